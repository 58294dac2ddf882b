program with_mpi
      use mpi
      implicit none
      include 'variables.inc'
      integer :: list, strided, again, dense, absolute
      include 'body.inc'
      call MPI_Finalize(ierr)
end program with_mpi
