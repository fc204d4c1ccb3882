exec(open('x/rx.py').read().split('for rep in')[0])
import collections
res=collections.defaultdict(list)
def us(n,sched):
    c=[K,'bench','x/nn.kc','--kernel','nn','--untuned','--repeats','21','--json']
    for s,v in zip('MNK',n): c+=['--set',f'{s}={v}']
    if sched: json.dump([dict(kernel='nn',**sched)],open('/tmp/q.json','w')); c+=['--schedule','/tmp/q.json']
    r=subprocess.run(c,capture_output=True,text=True)
    return json.loads(r.stdout)['median_us'] if r.returncode==0 else float('nan')
L=json.load(open('x/narrow.json'))
for rep in range(2):
    for m,n,k,i,j in L:
        a=us((m,n,k),None); b=us((m,n,k),dict(launch='c',cluster=2)); res[m,n,k,i,j].append((a,b))
for key,v in res.items(): print(key,v, 'gain %.3f'%(sum(a for a,b in v)/sum(b for a,b in v)))
