"""The tables of BLAS' and LAPACK's routines. Input: a row for each routine. Output: parameters with their extents.

A row has names, then parameters in Fortran's order. ``?gemm:sdcz`` stands for sgemm, dgemm, cgemm and zgemm, whose
elements are float32, float64, complex64 and complex128. Parameters:

=====================  ================================================================================================
``uplo:UL``            a flag, one of these letters
``n``                  an int, at least 0; ``k1#``: any int; ``incx`` follows a vector, ``lda`` a matrix
``alpha~``             a number of the routine's type; ``alpha~r``: real
``x(n)``               a vector of n elements, ``incx`` apart
``a[m,k]``             a matrix of m rows and k columns in Fortran's order, whose columns start ``lda`` elements apart;
                       ``^transa``: rows and columns change places unless the flag is N
``ap{n}``              n elements without gaps
``!``, ``:r``, ``:i``  after an array: it is written; its elements are real; they are 32-bit ints; ``:b``: letters
``@cz``                at the end: the parameter exists for these types only
``*work{n}``           workspace, not among the arguments; ``*work *lwork``: as much as the routine asks for;
                       ``*iwork?``: likewise, without a parameter for its size
``select&2``           a function of Python of two numbers of the routine's type, or None
``-> r``               a function and the type of its value (t: the routine's, r: real, d: float64, i: an int)
=====================  ================================================================================================

Names, order of arguments and extents: the reference BLAS and LAPACK 3.11 (netlib.org), which ACML implements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

BLAS = """
?rotg:sdcz | a{1}! b{1}! c{1}:r! s{1}!
?rotmg:sd | d1{1}! d2{1}! x1{1}! y1{1} param{5}!
?rot:sd csrot:c zdrot:z | n x(n)! incx y(n)! incy c~r s~r
?rotm:sd | n x(n)! incx y(n)! incy param{5}
?swap:sdcz | n x(n)! incx y(n)! incy
?scal:sdcz | n alpha~ x(n)! incx
csscal:c zdscal:z | n alpha~r x(n)! incx
?copy:sdcz | n x(n) incx y(n)! incy
?axpy:sdcz | n alpha~ x(n) incx y(n)! incy
?dot:sd ?dotu:cz ?dotc:cz | n x(n) incx y(n) incy -> t
dsdot:s | n x(n) incx y(n) incy -> d
sdsdot:s | n b~ x(n) incx y(n) incy -> t
?nrm2:sd scnrm2:c dznrm2:z ?asum:sd scasum:c dzasum:z | n x(n) incx -> r
i?amax:sdcz | n x(n) incx -> i
?gemv:sdcz | trans:NTC m n alpha~ a[m,n] lda x(if_n(trans,n,m)) incx beta~ y(if_n(trans,m,n))! incy
?gbmv:sdcz | trans:NTC m n kl ku alpha~ a[kl+ku+1,n] lda x(if_n(trans,n,m)) incx beta~ y(if_n(trans,m,n))!
    incy
?symv:sd ?hemv:cz | uplo:UL n alpha~ a[n,n] lda x(n) incx beta~ y(n)! incy
?sbmv:sd ?hbmv:cz | uplo:UL n k alpha~ a[k+1,n] lda x(n) incx beta~ y(n)! incy
?spmv:sd ?hpmv:cz | uplo:UL n alpha~ ap{n*(n+1)//2} x(n) incx beta~ y(n)! incy
?trmv:sdcz ?trsv:sdcz | uplo:UL trans:NTC diag:NU n a[n,n] lda x(n)! incx
?tbmv:sdcz ?tbsv:sdcz | uplo:UL trans:NTC diag:NU n k a[k+1,n] lda x(n)! incx
?tpmv:sdcz ?tpsv:sdcz | uplo:UL trans:NTC diag:NU n ap{n*(n+1)//2} x(n)! incx
?ger:sd ?geru:cz ?gerc:cz | m n alpha~ x(m) incx y(n) incy a[m,n]! lda
?syr:sd ?her:cz | uplo:UL n alpha~r x(n) incx a[n,n]! lda
?spr:sd ?hpr:cz | uplo:UL n alpha~r x(n) incx ap{n*(n+1)//2}!
?syr2:sd ?her2:cz | uplo:UL n alpha~ x(n) incx y(n) incy a[n,n]! lda
?spr2:sd ?hpr2:cz | uplo:UL n alpha~ x(n) incx y(n) incy ap{n*(n+1)//2}!
?gemm:sdcz | transa:NTC transb:NTC m n k alpha~ a[m,k]^transa lda b[k,n]^transb ldb beta~ c[m,n]! ldc
?symm:sdcz ?hemm:cz | side:LR uplo:UL m n alpha~ a[of(side,m,n),of(side,m,n)] lda b[m,n] ldb beta~ c[m,n]! ldc
?syrk:sd | uplo:UL trans:NTC n k alpha~ a[n,k]^trans lda beta~ c[n,n]! ldc
?syrk:cz | uplo:UL trans:NT n k alpha~ a[n,k]^trans lda beta~ c[n,n]! ldc
?herk:cz | uplo:UL trans:NC n k alpha~r a[n,k]^trans lda beta~r c[n,n]! ldc
?syr2k:sd | uplo:UL trans:NTC n k alpha~ a[n,k]^trans lda b[n,k]^trans ldb beta~ c[n,n]! ldc
?syr2k:cz | uplo:UL trans:NT n k alpha~ a[n,k]^trans lda b[n,k]^trans ldb beta~ c[n,n]! ldc
?her2k:cz | uplo:UL trans:NC n k alpha~ a[n,k]^trans lda b[n,k]^trans ldb beta~r c[n,n]! ldc
?trmm:sdcz ?trsm:sdcz | side:LR uplo:UL transa:NTC diag:NU m n alpha~ a[of(side,m,n),of(side,m,n)] lda b[m,n]!
    ldb
"""

LAPACK = """
?gesv:sdcz | n nrhs a[n,n]! lda ipiv{n}:i! b[n,nrhs]! ldb
dsgesv:d zcgesv:z | n nrhs a[n,n]! lda ipiv{n}:i! b[n,nrhs] ldb x[n,nrhs]! ldx *work{n*nrhs} *swork{n*(n+nrhs)}
    *rwork{n}:r@cz iter{1}:i!
?gbsv:sdcz | n kl ku nrhs ab[2*kl+ku+1,n]! ldab ipiv{n}:i! b[n,nrhs]! ldb
?gtsv:sdcz | n nrhs dl{n-1}! d{n}! du{n-1}! b[n,nrhs]! ldb
?posv:sdcz | uplo:UL n nrhs a[n,n]! lda b[n,nrhs]! ldb
dsposv:d zcposv:z | uplo:UL n nrhs a[n,n]! lda b[n,nrhs] ldb x[n,nrhs]! ldx *work{n*nrhs} *swork{n*(n+nrhs)}
    *rwork{n}:r@cz iter{1}:i!
?ppsv:sdcz | uplo:UL n nrhs ap{n*(n+1)//2}! b[n,nrhs]! ldb
?pbsv:sdcz | uplo:UL n kd nrhs ab[kd+1,n]! ldab b[n,nrhs]! ldb
?ptsv:sdcz | n nrhs d{n}:r! e{n-1}! b[n,nrhs]! ldb
?sysv:sdcz ?hesv:cz | uplo:UL n nrhs a[n,n]! lda ipiv{n}:i! b[n,nrhs]! ldb *work *lwork
?spsv:sdcz ?hpsv:cz | uplo:UL n nrhs ap{n*(n+1)//2}! ipiv{n}:i! b[n,nrhs]! ldb
?gesvx:sdcz | fact:NFE trans:NTC n nrhs a[n,n]! lda af[n,n]! ldaf ipiv{n}:i! equed{1}:b! r{n}:r! c{n}:r! b[n,nrhs]! ldb
    x[n,nrhs]! ldx rcond{1}:r! ferr{nrhs}:r! berr{nrhs}:r! *work{4*n} *iwork{n}:i@sd *rwork{2*n}:r@cz
?gbsvx:sdcz | fact:NFE trans:NTC n kl ku nrhs ab[kl+ku+1,n]! ldab afb[2*kl+ku+1,n]! ldafb ipiv{n}:i! equed{1}:b! r{n}:r!
    c{n}:r! b[n,nrhs]! ldb x[n,nrhs]! ldx rcond{1}:r! ferr{nrhs}:r! berr{nrhs}:r! *work{3*n} *iwork{n}:i@sd
    *rwork{2*n}:r@cz
?gtsvx:sdcz | fact:NF trans:NTC n nrhs dl{n-1} d{n} du{n-1} dlf{n-1}! df{n}! duf{n-1}! du2{n-2}! ipiv{n}:i!
    b[n,nrhs] ldb x[n,nrhs]! ldx rcond{1}:r! ferr{nrhs}:r! berr{nrhs}:r! *work{3*n} *iwork{n}:i@sd *rwork{n}:r@cz
?posvx:sdcz | fact:NFE uplo:UL n nrhs a[n,n]! lda af[n,n]! ldaf equed{1}:b! s{n}:r! b[n,nrhs]! ldb x[n,nrhs]! ldx
    rcond{1}:r! ferr{nrhs}:r! berr{nrhs}:r! *work{3*n} *iwork{n}:i@sd *rwork{n}:r@cz
?ppsvx:sdcz | fact:NFE uplo:UL n nrhs ap{n*(n+1)//2}! afp{n*(n+1)//2}! equed{1}:b! s{n}:r! b[n,nrhs]! ldb x[n,nrhs]! ldx
    rcond{1}:r! ferr{nrhs}:r! berr{nrhs}:r! *work{3*n} *iwork{n}:i@sd *rwork{n}:r@cz
?pbsvx:sdcz | fact:NFE uplo:UL n kd nrhs ab[kd+1,n]! ldab afb[kd+1,n]! ldafb equed{1}:b! s{n}:r! b[n,nrhs]! ldb
    x[n,nrhs]! ldx rcond{1}:r! ferr{nrhs}:r! berr{nrhs}:r! *work{3*n} *iwork{n}:i@sd *rwork{n}:r@cz
?ptsvx:sdcz | fact:NF n nrhs d{n}:r e{n-1} df{n}:r! ef{n-1}! b[n,nrhs] ldb x[n,nrhs]! ldx rcond{1}:r! ferr{nrhs}:r!
    berr{nrhs}:r! *work{2*n} *rwork{n}:r@cz
?sysvx:sdcz ?hesvx:cz | fact:NF uplo:UL n nrhs a[n,n] lda af[n,n]! ldaf ipiv{n}:i! b[n,nrhs] ldb x[n,nrhs]! ldx
    rcond{1}:r! ferr{nrhs}:r! berr{nrhs}:r! *work *lwork *iwork{n}:i@sd *rwork{n}:r@cz
?spsvx:sdcz ?hpsvx:cz | fact:NF uplo:UL n nrhs ap{n*(n+1)//2} afp{n*(n+1)//2}! ipiv{n}:i! b[n,nrhs] ldb x[n,nrhs]! ldx
    rcond{1}:r! ferr{nrhs}:r! berr{nrhs}:r! *work{3*n} *iwork{n}:i@sd *rwork{n}:r@cz
?gels:sd | trans:NT m n nrhs a[m,n]! lda b[max(m,n),nrhs]! ldb *work *lwork
?gels:cz | trans:NC m n nrhs a[m,n]! lda b[max(m,n),nrhs]! ldb *work *lwork
?gelsy:sdcz | m n nrhs a[m,n]! lda b[max(m,n),nrhs]! ldb jpvt{n}:i! rcond~r rank{1}:i! *work *lwork
    *rwork{2*n}:r@cz
?gelss:sdcz | m n nrhs a[m,n]! lda b[max(m,n),nrhs]! ldb s{min(m,n)}:r! rcond~r rank{1}:i! *work *lwork
    *rwork{5*min(m,n)}:r@cz
?gelsd:sdcz | m n nrhs a[m,n]! lda b[max(m,n),nrhs]! ldb s{min(m,n)}:r! rcond~r rank{1}:i! *work *lwork
    *rwork?:r@cz *iwork?:i
?gglse:sdcz | m n p a[m,n]! lda b[p,n]! ldb c{m}! d{p}! x{n}! *work *lwork
?ggglm:sdcz | n m p a[n,m]! lda b[n,p]! ldb d{n}! x{m}! y{p}! *work *lwork
?syev:sd ?heev:cz | jobz:NV uplo:UL n a[n,n]! lda w{n}:r! *work *lwork *rwork{3*n-2}:r@cz
?syevd:sd ?heevd:cz | jobz:NV uplo:UL n a[n,n]! lda w{n}:r! *work *lwork *rwork:r@cz *lrwork@cz *iwork:i
    *liwork
?syevr:sd ?heevr:cz | jobz:NV range:AVI uplo:UL n a[n,n]! lda vl~r vu~r il# iu# abstol~r m{1}:i! w{n}:r!
    z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz isuppz{2*n}:i! *work *lwork *rwork:r@cz *lrwork@cz *iwork:i *liwork
?syevx:sd ?heevx:cz | jobz:NV range:AVI uplo:UL n a[n,n]! lda vl~r vu~r il# iu# abstol~r m{1}:i! w{n}:r!
    z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work *lwork *rwork{7*n}:r@cz *iwork{5*n}:i ifail{n}:i!
?stev:sd | jobz:NV n d{n}! e{n-1}! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{2*n-2}
?stevd:sd | jobz:NV n d{n}! e{n-1}! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work *lwork *iwork:i *liwork
?stevx:sd | jobz:NV range:AVI n d{n}! e{n-1}! vl~r vu~r il# iu# abstol~r m{1}:i! w{n}!
    z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{5*n} *iwork{5*n}:i ifail{n}:i!
?stevr:sd | jobz:NV range:AVI n d{n}! e{n-1}! vl~r vu~r il# iu# abstol~r m{1}:i! w{n}!
    z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz isuppz{2*n}:i! *work *lwork *iwork:i *liwork
?spev:sd | jobz:NV uplo:UL n ap{n*(n+1)//2}! w{n}! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{3*n}
?hpev:cz | jobz:NV uplo:UL n ap{n*(n+1)//2}! w{n}:r! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{2*n-1}
    *rwork{3*n-2}:r
?spevd:sd ?hpevd:cz | jobz:NV uplo:UL n ap{n*(n+1)//2}! w{n}:r! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work *lwork
    *rwork:r@cz *lrwork@cz *iwork:i *liwork
?spevx:sd ?hpevx:cz | jobz:NV range:AVI uplo:UL n ap{n*(n+1)//2}! vl~r vu~r il# iu# abstol~r m{1}:i! w{n}:r!
    z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{8*n} *rwork{7*n}:r@cz *iwork{5*n}:i ifail{n}:i!
?sbev:sd | jobz:NV uplo:UL n kd ab[kd+1,n]! ldab w{n}! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{3*n-2}
?hbev:cz | jobz:NV uplo:UL n kd ab[kd+1,n]! ldab w{n}:r! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{n}
    *rwork{3*n-2}:r
?sbevd:sd ?hbevd:cz | jobz:NV uplo:UL n kd ab[kd+1,n]! ldab w{n}:r! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz
    *work *lwork *rwork:r@cz *lrwork@cz *iwork:i *liwork
?sbevx:sd ?hbevx:cz | jobz:NV range:AVI uplo:UL n kd ab[kd+1,n]! ldab q[if_n(jobz,0,n),if_n(jobz,0,n)]! ldq vl~r vu~r
    il# iu# abstol~r m{1}:i! w{n}:r! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{7*n} *rwork{7*n}:r@cz *iwork{5*n}:i
    ifail{n}:i!
?sygv:sd ?hegv:cz | itype:123 jobz:NV uplo:UL n a[n,n]! lda b[n,n]! ldb w{n}:r! *work *lwork
    *rwork{3*n-2}:r@cz
?sygvd:sd ?hegvd:cz | itype:123 jobz:NV uplo:UL n a[n,n]! lda b[n,n]! ldb w{n}:r! *work *lwork *rwork:r@cz
    *lrwork@cz *iwork:i *liwork
?sygvx:sd ?hegvx:cz | itype:123 jobz:NV range:AVI uplo:UL n a[n,n]! lda b[n,n]! ldb vl~r vu~r il# iu# abstol~r m{1}:i!
    w{n}:r! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work *lwork *rwork{7*n}:r@cz *iwork{5*n}:i ifail{n}:i!
?spgv:sd ?hpgv:cz | itype:123 jobz:NV uplo:UL n ap{n*(n+1)//2}! bp{n*(n+1)//2}! w{n}:r!
    z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{3*n} *rwork{3*n-2}:r@cz
?spgvd:sd ?hpgvd:cz | itype:123 jobz:NV uplo:UL n ap{n*(n+1)//2}! bp{n*(n+1)//2}! w{n}:r!
    z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work *lwork *rwork:r@cz *lrwork@cz *iwork:i *liwork
?spgvx:sd ?hpgvx:cz | itype:123 jobz:NV range:AVI uplo:UL n ap{n*(n+1)//2}! bp{n*(n+1)//2}! vl~r vu~r il# iu# abstol~r
    m{1}:i! w{n}:r! z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{8*n} *rwork{7*n}:r@cz *iwork{5*n}:i ifail{n}:i!
?sbgv:sd ?hbgv:cz | jobz:NV uplo:UL n ka kb ab[ka+1,n]! ldab bb[kb+1,n]! ldbb w{n}:r!
    z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{3*n} *rwork{3*n}:r@cz
?sbgvd:sd ?hbgvd:cz | jobz:NV uplo:UL n ka kb ab[ka+1,n]! ldab bb[kb+1,n]! ldbb w{n}:r!
    z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work *lwork *rwork:r@cz *lrwork@cz *iwork:i *liwork
?sbgvx:sd ?hbgvx:cz | jobz:NV range:AVI uplo:UL n ka kb ab[ka+1,n]! ldab bb[kb+1,n]! ldbb
    q[if_n(jobz,0,n),if_n(jobz,0,n)]! ldq vl~r vu~r il# iu# abstol~r m{1}:i! w{n}:r!
    z[if_n(jobz,0,n),if_n(jobz,0,n)]! ldz *work{7*n} *rwork{7*n}:r@cz *iwork{5*n}:i ifail{n}:i!
?geev:sdcz | jobvl:NV jobvr:NV n a[n,n]! lda wr{n}!@sd wi{n}!@sd w{n}!@cz vl[if_n(jobvl,0,n),if_n(jobvl,0,n)]!
    ldvl vr[if_n(jobvr,0,n),if_n(jobvr,0,n)]! ldvr *work *lwork *rwork{2*n}:r@cz
?ggev:sdcz | jobvl:NV jobvr:NV n a[n,n]! lda b[n,n]! ldb alphar{n}!@sd alphai{n}!@sd alpha{n}!@cz beta{n}!
    vl[if_n(jobvl,0,n),if_n(jobvl,0,n)]! ldvl vr[if_n(jobvr,0,n),if_n(jobvr,0,n)]! ldvr *work *lwork
    *rwork{8*n}:r@cz
?geevx:sdcz | balanc:NPSB jobvl:NV jobvr:NV sense:NEVB n a[n,n]! lda wr{n}!@sd wi{n}!@sd w{n}!@cz
    vl[if_n(jobvl,0,n),if_n(jobvl,0,n)]! ldvl vr[if_n(jobvr,0,n),if_n(jobvr,0,n)]! ldvr ilo{1}:i! ihi{1}:i! scale{n}:r!
    abnrm{1}:r! rconde{n}:r! rcondv{n}:r! *work *lwork *iwork{2*n-2}:i@sd *rwork{2*n}:r@cz
?ggevx:sdcz | balanc:NPSB jobvl:NV jobvr:NV sense:NEVB n a[n,n]! lda b[n,n]! ldb alphar{n}!@sd alphai{n}!@sd
    alpha{n}!@cz beta{n}! vl[if_n(jobvl,0,n),if_n(jobvl,0,n)]! ldvl vr[if_n(jobvr,0,n),if_n(jobvr,0,n)]! ldvr
    ilo{1}:i! ihi{1}:i! lscale{n}:r! rscale{n}:r! abnrm{1}:r! bbnrm{1}:r! rconde{n}:r! rcondv{n}:r! *work *lwork
    *rwork{6*n}:r@cz *iwork{n+6}:i *bwork{n}:i
?gees:sdcz | jobvs:NV sort:NS select&2@sd select&1@cz n a[n,n]! lda sdim{1}:i! wr{n}!@sd wi{n}!@sd w{n}!@cz
    vs[if_n(jobvs,0,n),if_n(jobvs,0,n)]! ldvs *work *lwork *rwork{n}:r@cz *bwork{n}:i
?geesx:sdcz | jobvs:NV sort:NS select&2@sd select&1@cz sense:NEVB n a[n,n]! lda sdim{1}:i! wr{n}!@sd wi{n}!@sd w{n}!@cz
    vs[if_n(jobvs,0,n),if_n(jobvs,0,n)]! ldvs rconde{1}:r! rcondv{1}:r! *work *lwork *rwork{n}:r@cz *iwork:i@sd
    *liwork@sd *bwork{n}:i
?gges:sdcz | jobvsl:NV jobvsr:NV sort:NS selctg&3@sd selctg&2@cz n a[n,n]! lda b[n,n]! ldb sdim{1}:i! alphar{n}!@sd
    alphai{n}!@sd alpha{n}!@cz beta{n}! vsl[if_n(jobvsl,0,n),if_n(jobvsl,0,n)]! ldvsl
    vsr[if_n(jobvsr,0,n),if_n(jobvsr,0,n)]! ldvsr *work *lwork *rwork{8*n}:r@cz *bwork{n}:i
?ggesx:sdcz | jobvsl:NV jobvsr:NV sort:NS selctg&3@sd selctg&2@cz sense:NEVB n a[n,n]! lda b[n,n]! ldb sdim{1}:i!
    alphar{n}!@sd alphai{n}!@sd alpha{n}!@cz beta{n}! vsl[if_n(jobvsl,0,n),if_n(jobvsl,0,n)]! ldvsl
    vsr[if_n(jobvsr,0,n),if_n(jobvsr,0,n)]! ldvsr rconde{2}:r! rcondv{2}:r! *work *lwork *rwork{8*n}:r@cz *iwork:i
    *liwork *bwork{n}:i
?gesvd:sdcz | jobu:ASON jobvt:ASON m n a[m,n]! lda s{min(m,n)}:r! u[kept(jobu,m),columns(jobu,m,min(m,n))]!
    ldu vt[kept(jobvt,columns(jobvt,n,min(m,n))),n]! ldvt *work *lwork *rwork{5*min(m,n)}:r@cz
?gesdd:sdcz | jobz:ASON m n a[m,n]! lda s{min(m,n)}:r!
    u[m*sdd_u(jobz,m,n),sdd_u(jobz,m,n)*columns(jobz,m,min(m,n))]! ldu
    vt[sdd_vt(jobz,m,n)*columns(jobz,n,min(m,n)),n*sdd_vt(jobz,m,n)]! ldvt *work *lwork
    *rwork{sdd_work(m,n)}:r@cz
    *iwork{8*min(m,n)}:i
?getrf:sdcz | m n a[m,n]! lda ipiv{min(m,n)}:i!
?getrs:sdcz | trans:NTC n nrhs a[n,n] lda ipiv{n}:i b[n,nrhs]! ldb
?getri:sdcz | n a[n,n]! lda ipiv{n}:i *work *lwork
?gecon:sdcz | norm:1OI n a[n,n] lda anorm~r rcond{1}:r! *work{4*n} *iwork{n}:i@sd *rwork{2*n}:r@cz
?gbtrf:sdcz | m n kl ku ab[2*kl+ku+1,n]! ldab ipiv{min(m,n)}:i!
?gbtrs:sdcz | trans:NTC n kl ku nrhs ab[2*kl+ku+1,n] ldab ipiv{n}:i b[n,nrhs]! ldb
?gttrf:sdcz | n dl{n-1}! d{n}! du{n-1}! du2{n-2}! ipiv{n}:i!
?gttrs:sdcz | trans:NTC n nrhs dl{n-1} d{n} du{n-1} du2{n-2} ipiv{n}:i b[n,nrhs]! ldb
?potrf:sdcz ?potri:sdcz | uplo:UL n a[n,n]! lda
?potrs:sdcz | uplo:UL n nrhs a[n,n] lda b[n,nrhs]! ldb
?pocon:sdcz | uplo:UL n a[n,n] lda anorm~r rcond{1}:r! *work{3*n} *iwork{n}:i@sd *rwork{n}:r@cz
?pptrf:sdcz | uplo:UL n ap{n*(n+1)//2}!
?pptrs:sdcz | uplo:UL n nrhs ap{n*(n+1)//2} b[n,nrhs]! ldb
?pbtrf:sdcz | uplo:UL n kd ab[kd+1,n]! ldab
?pbtrs:sdcz | uplo:UL n kd nrhs ab[kd+1,n] ldab b[n,nrhs]! ldb
?pttrf:sdcz | n d{n}:r! e{n-1}!
?sytrf:sdcz ?hetrf:cz | uplo:UL n a[n,n]! lda ipiv{n}:i! *work *lwork
?sytrs:sdcz ?hetrs:cz | uplo:UL n nrhs a[n,n] lda ipiv{n}:i b[n,nrhs]! ldb
?trtri:sdcz | uplo:UL diag:NU n a[n,n]! lda
?trtrs:sdcz | uplo:UL trans:NTC diag:NU n nrhs a[n,n] lda b[n,nrhs]! ldb
?geqrf:sdcz ?gelqf:sdcz ?geqlf:sdcz ?gerqf:sdcz | m n a[m,n]! lda tau{min(m,n)}! *work *lwork
?orgqr:sd ?ungqr:cz ?orglq:sd ?unglq:cz | m n k a[m,n]! lda tau{k} *work *lwork
?ormqr:sd | side:LR trans:NT m n k a[of(side,m,n),k] lda tau{k} c[m,n]! ldc *work *lwork
?unmqr:cz | side:LR trans:NC m n k a[of(side,m,n),k] lda tau{k} c[m,n]! ldc *work *lwork
?ormlq:sd | side:LR trans:NT m n k a[k,of(side,m,n)] lda tau{k} c[m,n]! ldc *work *lwork
?unmlq:cz | side:LR trans:NC m n k a[k,of(side,m,n)] lda tau{k} c[m,n]! ldc *work *lwork
?geqp3:sdcz | m n a[m,n]! lda jpvt{n}:i! tau{min(m,n)}! *work *lwork *rwork{2*n}:r@cz
?sytrd:sd ?hetrd:cz | uplo:UL n a[n,n]! lda d{n}:r! e{n-1}:r! tau{n-1}! *work *lwork
?gehrd:sdcz | n ilo# ihi# a[n,n]! lda tau{n-1}! *work *lwork
?gebrd:sdcz | m n a[m,n]! lda d{min(m,n)}:r! e{min(m,n)-1}:r! tauq{min(m,n)}! taup{min(m,n)}! *work *lwork
"""

LAPACK_FUNCTIONS = """
?lange:sdcz | norm:M1OIFE m n a[m,n] lda *work{m}:r -> r
?lansy:sdcz ?lanhe:cz | norm:M1OIFE uplo:UL n a[n,n] lda *work{n}:r -> r
"""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a routine: the letters of the table's grammar, taken apart.

    ``kind``: flag, int, increment, leading, scalar, vector, matrix, array, callback, or size (of a workspace).
    ``type``: t (the routine's), r, i or b; ``takes``: how many numbers a callback takes. ``extents``: expressions of
    the sizes and flags; ``hidden``: not among the arguments; ``queried``: the routine says how much workspace it wants;
    ``position``: in Fortran, from 1.
    """

    name: str
    kind: str
    type: str = "t"
    letters: str = ""
    extents: tuple[str, ...] = ()
    swapped: str = ""
    written: bool = False
    hidden: bool = False
    queried: bool = False
    takes: int = 0
    position: int = 0

    @property
    def is_pivots(self) -> bool:
        """Whether it holds the rows that an earlier factorization exchanged."""
        return self.name == "ipiv" and not self.written


@dataclass(frozen=True)
class Row:
    """One routine: ``prefix``, the letter of its type, ``library`` (blas or lapack), ``info``: whether it reports."""

    name: str
    prefix: str
    library: str
    parameters: tuple[Parameter, ...]
    value: str
    info: bool

    @property
    def exchanges(self) -> str:
        """What rows a factorization exchanges: "steps" (each with itself or the next, xGTTRF), "blocks" (each row of a
        block of two has minus a number, xSYTRF), or "pivots" (each with any)."""
        kind = self.name[1:3]
        return "steps" if kind == "gt" else "blocks" if kind in ("sy", "he", "sp", "hp") else "pivots"


_TOKEN = re.compile(
    r"(?P<hidden>\*)?(?P<name>[a-z]\w*)"
    r"(?:\((?P<vector>.*)\)|\[(?P<matrix>.*)\]|\{(?P<array>.*)\}|(?P<scalar>~r?)|(?P<any>#)|(?P<query>\?)|&(?P<takes>\d))?"
    r"(?:\^(?P<swapped>\w+))?(?::(?P<type>[rib])(?![A-Z0-9])|:(?P<letters>[A-Z0-9]+))?"
    r"(?P<written>!)?(?:[@](?P<only>\w+))?"
)


def _parameter(token: str, prefix: str, position: int) -> Parameter | None:
    match = _TOKEN.fullmatch(token)
    assert match is not None, token
    part = match.groupdict()
    if part["only"] and prefix not in part["only"]:
        return None
    name = part["name"]
    common: dict[str, Any] = {
        "name": name,
        "position": position,
        "hidden": bool(part["hidden"]),
        "written": bool(part["written"]),
    }
    if part["letters"]:
        return Parameter(kind="flag", letters=part["letters"], **common)
    if part["scalar"]:
        return Parameter(kind="scalar", type="r" if part["scalar"] == "~r" else "t", **common)
    if part["vector"]:
        return Parameter(kind="vector", extents=(part["vector"],), type=part["type"] or "t", **common)
    if part["matrix"]:
        rows, columns = _split(part["matrix"])
        return Parameter(kind="matrix", extents=(rows, columns), swapped=part["swapped"] or "", **common)
    if part["array"]:
        return Parameter(kind="array", extents=(part["array"],), type=part["type"] or "t", **common)
    if part["takes"]:
        return Parameter(kind="callback", takes=int(part["takes"]), **common)
    if part["hidden"]:
        if name.startswith("l"):
            return Parameter(kind="size", **common)
        return Parameter(kind="array", type=part["type"] or "t", queried=True, **common)
    kind = "increment" if name.startswith("inc") else "leading" if name.startswith("ld") else "int"
    return Parameter(kind="any" if part["any"] else kind, **common)


def _split(text: str) -> tuple[str, str]:
    """Rows and columns: the expressions on both sides of the comma that is in no brackets."""
    depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            return text[:at], text[at + 1 :]
    raise AssertionError(text)


@cache
def rows() -> dict[str, tuple[str, str, str, str, bool]]:
    """Name of a routine -> its type's letter, library, parameters' text, value's type, and whether it has an INFO."""
    found = {}
    for table, library, info in ((BLAS, "blas", False), (LAPACK, "lapack", True), (LAPACK_FUNCTIONS, "lapack", False)):
        for line in table.replace("\n    ", " ").strip().splitlines():
            names, _, text = line.partition(" | ")
            text, _, value = text.partition(" -> ")
            for name, _, prefixes in (entry.partition(":") for entry in names.split()):
                for prefix in prefixes:
                    found[name.replace("?", prefix)] = (prefix, library, text, value, info)
    return found


@cache
def row(name: str) -> Row:
    """The row of a routine, its parameters taken apart. KeyError if the tables have none of that name."""
    prefix, library, text, value, info = rows()[name]
    parameters: list[Parameter] = []
    for token in text.split():
        made = _parameter(token, prefix, len(parameters) + 1)
        if made is not None:
            parameters.append(made)
    return Row(name, prefix, library, tuple(parameters), value, info)
