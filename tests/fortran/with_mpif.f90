program with_mpif
      implicit none
      include 'mpif.h'
      include 'variables.inc'
      integer :: list, strided, again, dense, absolute
      include 'body.inc'
      call MPI_Finalize(ierr)
end program with_mpif
