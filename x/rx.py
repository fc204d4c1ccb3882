import json,subprocess,sys
K='/tmp/b/kernelc/bin/kernelc'
def bench(label,file,kernel,n,sched=None,prec=None):
    c=[K,'bench',file,'--kernel',kernel,'--untuned','--repeats','15','--json']
    for s in 'MNK': c+=['--set',f'{s}={n}']
    if sched is not None:
        json.dump([dict(kernel=kernel,**sched)],open('/tmp/q.json','w')); c+=['--schedule','/tmp/q.json']
    if prec: c+=['--precision',prec]
    r=subprocess.run(c,capture_output=True,text=True)
    print(label,n,json.loads(r.stdout)['median_us'] if r.returncode==0 else r.stderr[:300],flush=True)
for rep in range(2):
    for n in (2048,4096,8192):
        for cl in (1,2):
            for k in 'th': bench(f'{k} cluster{cl}','x/x3.kc',k,n,{'launch':'c','cluster':cl})
            bench(f'f8 cluster{cl}','examples/matmul_f8.kc','matmul_f8',n,{'launch':'c','cluster':cl})
    bench('f32','x/x3.kc','f',4096)
