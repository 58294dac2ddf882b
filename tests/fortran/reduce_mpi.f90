      program reduce_mpi
      use mpi
      implicit none
      integer :: dense, spread, request
      integer :: ierr, rank, nranks, wrong, total, i
      double precision, asynchronous :: a(8), b(8)
      double precision :: want
      include 'reduce_body.inc'
      end program
