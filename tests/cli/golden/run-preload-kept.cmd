LD_PRELOAD=libm.so.6 espalier run sh -c 'echo $LD_PRELOAD'
