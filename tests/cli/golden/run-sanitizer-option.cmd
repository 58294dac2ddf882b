tell() { espalier run sh -c 'echo "$ASAN_OPTIONS"'; }
unset ASAN_OPTIONS
tell
for ASAN_OPTIONS in "" detect_leaks=0 log_path=x: verify_asan_link_order=1 verify_asan_link_order=0 \
    verify_asan_link_order=0:verify_asan_link_order=1 verify_asan_link_order=00 "verify_asan_link_order=0 halt_on_error=0"; do
    export ASAN_OPTIONS
    tell
done
