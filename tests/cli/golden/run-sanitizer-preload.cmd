for name in libasan.so.8 libtsan.so.2 libasanxso.8 other.so; do ln -s "$(ldd /bin/sh | sed -n 's/.* => \(.*libc\.so\.6\) .*/\1/p')" $name; done
tell() { LD_PRELOAD=$1 espalier run sh -c 'echo "$LD_PRELOAD"'; }
tell $PWD/libasan.so.8
tell $PWD/other.so:$PWD/libasan.so.8
tell " $PWD/libasan.so.8::$PWD/libtsan.so.2 $PWD/other.so"
tell $PWD/libasanxso.8
