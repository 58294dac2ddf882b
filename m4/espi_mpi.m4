# ESPI_MPI
# Finds MPICH's compiler wrapper and launcher, also where another MPI owns the plain
# names, and reads the flags out of the wrapper, so that only what needs MPI is built
# with it. MPICC= and MPIEXEC= override. Sets MPICC, MPI_CPPFLAGS, MPI_LIBS, MPI_SONAME,
# MPIEXEC, MPIFORT (empty when there is none), MPICH_VERSION_TEXT.
AC_DEFUN([ESPI_MPI], [
AC_ARG_VAR([MPICC], [MPICH's C compiler wrapper])
AC_ARG_VAR([MPIFORT], [MPICH's Fortran compiler wrapper (tests only)])
AC_ARG_VAR([MPIEXEC], [MPICH's launcher (tests and examples)])
espi_mpicc_given=$MPICC
AS_IF([test -z "$MPICC"], [
  for espi_try in mpicc.mpich mpicc; do
    AS_IF([command -v $espi_try >/dev/null 2>&1 && $espi_try -v 2>/dev/null | grep -q MPICH],
          [MPICC=$espi_try; break])
  done])
AC_MSG_CHECKING([for MPICH's compiler wrapper])
AS_IF([test -z "$MPICC"], [AC_MSG_RESULT([none])
  AC_MSG_ERROR([no MPICH compiler wrapper found (tried mpicc.mpich, mpicc).
Install MPICH (Debian: apt-get install mpich libmpich-dev) or name it: ./configure MPICC=/path/to/mpicc])])
AC_MSG_RESULT([$MPICC])
set dummy $MPICC
AS_IF([command -v "$[]2" >/dev/null 2>&1], [], [AC_MSG_ERROR(['$[]2', given as MPICC, cannot be run])])
espi_show=`$MPICC -show 2>/dev/null`
AS_IF([test -z "$espi_show"],
  [AC_MSG_ERROR(['$MPICC -show' prints nothing: is MPICC MPICH's wrapper? (Open MPI and others are not supported)])])
MPI_CPPFLAGS=
MPI_LIBS=
set dummy $espi_show
shift; shift
for espi_word
do
  AS_CASE([$espi_word],
    [-I*|-D*], [MPI_CPPFLAGS="$MPI_CPPFLAGS $espi_word"],
    [-L*|-l*|-Wl,*|-pthread], [MPI_LIBS="$MPI_LIBS $espi_word"])
done
espi_save_CPPFLAGS=$CPPFLAGS
espi_save_LIBS=$LIBS
CPPFLAGS="$CPPFLAGS $MPI_CPPFLAGS"
AC_CACHE_CHECK([for the MPICH version in mpi.h], [espi_cv_mpich_version], [
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <mpi.h>
#ifndef MPICH_NUMVERSION
#error this mpi.h is not MPICH's
#endif
#if MPI_VERSION < 4
#error this MPICH does not offer MPI 4
#endif
]])], [espi_cv_mpich_version=`printf '#include <mpi.h>\nespi_version MPICH_VERSION\n' |
    $CPP $CPPFLAGS - 2>/dev/null | sed -n 's/^espi_version "\(.*\)"$/\1/p'`],
  [espi_cv_mpich_version=no])])
AS_IF([test "$espi_cv_mpich_version" = no],
  [AC_MSG_ERROR([the mpi.h of $MPICC is not that of MPICH 4 or later; name another wrapper with MPICC=])])
MPICH_VERSION_TEXT=$espi_cv_mpich_version
LIBS="$LIBS $MPI_LIBS"
AC_CACHE_CHECK([whether programs link with MPICH], [espi_cv_mpi_links], [
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]],
    [[MPI_Request r; MPI_Pready(0, r); return PMPI_Send_c(0,0,0,0,0,0);]])],
    [espi_cv_mpi_links=`readelf -d conftest$EXEEXT 2>/dev/null | tr -d '@<:@@:>@' |
       awk '/NEEDED/ && $NF ~ /^libmp/ { print $NF; exit }'`
     test -n "$espi_cv_mpi_links" || espi_cv_mpi_links=static], [espi_cv_mpi_links=no])])
AS_CASE([$espi_cv_mpi_links],
  [no], [AC_MSG_ERROR([a program with MPI 4 calls does not link with '$MPICC'; see config.log])],
  [static], [AC_MSG_ERROR(['$MPICC' links MPI statically; Espalier needs a shared MPICH])])
MPI_SONAME=$espi_cv_mpi_links
CPPFLAGS=$espi_save_CPPFLAGS
LIBS=$espi_save_LIBS
# The launcher and the Fortran wrapper that stand beside the wrapper are preferred: a
# program must be started by the launcher of its own MPI.
espi_dir=`AS_DIRNAME(["\`command -v $MPICC\`"])`
AS_IF([test -z "$MPIEXEC"], [
  for espi_try in "$espi_dir/mpiexec.mpich" "$espi_dir/mpiexec.hydra" "$espi_dir/mpiexec"; do
    AS_IF([test -x "$espi_try" && "$espi_try" --version 2>/dev/null | grep -q HYDRA], [MPIEXEC=$espi_try; break])
  done])
AS_IF([test -z "$MPIFORT"], [
  for espi_try in "$espi_dir/mpifort.mpich" "$espi_dir/mpifort"; do
    AS_IF([test -x "$espi_try" && "$espi_try" -v 2>&1 | grep -q MPICH &&
      "$espi_try" -show 2>/dev/null | { read espi_fc espi_rest; command -v "$espi_fc" >/dev/null 2>&1; }],
      [MPIFORT=$espi_try; break])
  done])
AC_MSG_CHECKING([for MPICH's launcher])
AC_MSG_RESULT([${MPIEXEC:-none (tests that start MPI programs will be skipped)}])
AC_MSG_CHECKING([for MPICH's Fortran wrapper])
AC_MSG_RESULT([${MPIFORT:-none (Fortran tests will be skipped)}])
AC_SUBST([MPI_CPPFLAGS]) AC_SUBST([MPI_LIBS]) AC_SUBST([MPI_SONAME]) AC_SUBST([MPICH_VERSION_TEXT])
AM_CONDITIONAL([HAVE_MPIEXEC], [test -n "$MPIEXEC"])
AM_CONDITIONAL([HAVE_MPIFORT], [test -n "$MPIFORT"])
])
