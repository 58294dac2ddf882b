program requests
  implicit none
  include 'mpif.h'
  integer :: v, r(2), p(2), st(MPI_STATUS_SIZE, 2), s1(MPI_STATUS_SIZE)
  integer :: rank, ierr, i, k, bad, idx
  logical :: flag
  integer, asynchronous :: a(100), b(100)
  include 'requests_body.inc'
end program requests
