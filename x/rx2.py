exec(open('x/rx.py').read().split('for rep in')[0])
for rep in range(2):
    for k in 'th':
        for s in ({'cluster':2},{'tiles':{'j':192},'stages':4,'part':32},{'tiles':{'j':192},'stages':4,'part':32,'cluster':2},{'tiles':{'j':176},'stages':4,'part':16,'cluster':2},{'tiles':{'j':160},'stages':4,'part':32,'cluster':2},{'cluster':2,'stages':6,'part':32},{'cluster':2,'stages':6,'part':32,'raster':4}):
            bench(f'{k} {s}','x/x3.kc',k,4096,dict(launch='c',**s))
