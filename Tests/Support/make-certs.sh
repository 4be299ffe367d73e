#!/usr/bin/env bash
# Makes a local certificate authority and a family of good and bad certificates
# for the TLS tests, with the openssl command line tool (3.0 or newer) only.
#
#   make-certs.sh OUTDIR
#
# The layout, names, serial numbers and validity dates are the same in every run;
# only keys, signatures and CRL/OCSP bytes differ. OUTDIR is replaced.
# No network is used. Everything made here is for tests alone.
#
# OUTDIR/trust/roots.pem            the root to trust
# OUTDIR/trust/other-roots.pem      a root that signs only "untrusted-root"
# OUTDIR/server/NAME.pem            leaf            NAME.key  its key (PKCS#8)
# OUTDIR/server/NAME-chain.pem      what a server sends (leaf, then intermediates)
# OUTDIR/client/...                 client identities: PEM, DER, PKCS#12
# OUTDIR/crl/all.pem                CRLs of root and intermediate; stale.pem is out of date
# OUTDIR/ocsp/NAME.der              stapled answers: good, revoked, wrong-cert, and short
#                                   (valid for one minute: judge it with a clock set later);
#                                   by-issuer, which the issuer has signed itself; unknown, for a
#                                   certificate that is on no list; and by three who may not sign:
#                                   uncharged, stranger, expired-signer
# OUTDIR/key/...                    one key each of RSA and EC in every form: PEM and DER, PKCS#8,
#                                   PKCS#1 and SEC 1, protected or not
# OUTDIR/pins.tsv                   NAME <tab> base64(SHA-256(SubjectPublicKeyInfo))
# OUTDIR/manifest.tsv               case, chain, key, peer kind, peer name, trust file, expected
set -euo pipefail
export LC_ALL=C OPENSSL_CONF=/dev/null
[ $# -eq 1 ] || { echo "usage: $0 OUTDIR" >&2; exit 2; }
mkdir -p "$1"; out=$(cd "$1" && pwd)
case "$out" in /|"${HOME:-/}") echo "refusing to use $out" >&2; exit 2;; esac
if [ -n "$(ls -A "$out")" ] && [ ! -e "$out/.test-certs" ]; then
  echo "$out is not empty and was not made by this script" >&2; exit 2
fi
rm -rf "${out:?}"/*; : > "$out/.test-certs"
mkdir -p "$out"/{ca,trust,server,client,crl,ocsp,key}
cd "$out"
pw='correct horse'          # password of every protected client identity
START=20200101000000Z END=20491231235959Z
q() { "$@" >>build.log 2>&1 || { echo "failed: $*" >&2; tail -n 5 build.log >&2; exit 1; }; }

ca_conf() { # dir -> a minimal "openssl ca" configuration
  mkdir -p "ca/$1"; : > "ca/$1/index.txt"; echo 01 > "ca/$1/crlnumber"
  printf 'unique_subject = no\n' > "ca/$1/index.txt.attr"
  cat > "ca/$1/ca.cnf" <<CNF
[ca]
default_ca = d
[d]
database = ca/$1/index.txt
serial = ca/$1/serial
crlnumber = ca/$1/crlnumber
new_certs_dir = ca/$1
default_md = sha256
policy = any
unique_subject = no
copy_extensions = none
[any]
countryName = optional
organizationName = optional
organizationalUnitName = optional
commonName = optional
CNF
}
key() { # file [ec|rsa2048|rsa1024|ed25519]
  case "${2:-ec}" in
    ec) q openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" ;;
    rsa*) q openssl genpkey -quiet -algorithm RSA -pkeyopt "rsa_keygen_bits:${2#rsa}" -out "$1" ;;
    ed25519) q openssl genpkey -algorithm ED25519 -out "$1" ;;
  esac
}
# sign CA SERIAL OUT KEY SUBJECT EXTENSIONS [START END [extra options]]
sign() {
  local ca=$1 serial=$2 dst=$3 k=$4 subj=$5 ext=$6 s=${7:-$START} e=${8:-$END}; shift 6; [ $# -ge 2 ] && shift 2 || true
  q openssl req -new -key "$k" -subj "$subj" -config <(printf '[req]\ndistinguished_name=d\n[d]\n') -out tmp.csr
  printf '%s\n' "$serial" > "ca/$ca/serial"
  printf '%b\n' "$ext" > tmp.ext
  q openssl ca -batch -notext -preserveDN -config "ca/$ca/ca.cnf" -cert "ca/$ca.pem" -keyfile "ca/$ca.key" \
    -startdate "$s" -enddate "$e" -extfile tmp.ext -in tmp.csr -out "$dst" "$@"
  rm -f tmp.csr tmp.ext
}
CAEXT='basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash'
root() { # name CN
  ca_conf "$1"; key "ca/$1.key"; echo 01 > "ca/$1/serial"; printf '%b\n' "$CAEXT" > tmp.ext
  q openssl req -new -key "ca/$1.key" -subj "/O=Test/CN=$2" -config <(printf '[req]\ndistinguished_name=d\n[d]\n') -out tmp.csr
  q openssl ca -batch -notext -preserveDN -selfsign -config "ca/$1/ca.cnf" -keyfile "ca/$1.key" \
    -startdate $START -enddate $END -extfile tmp.ext -in tmp.csr -out "ca/$1.pem"
  rm -f tmp.csr tmp.ext
}
inter() { # name parent serial CN [ext] [start end]
  ca_conf "$1"; key "ca/$1.key"
  sign "$2" "$3" "ca/$1.pem" "ca/$1.key" "/O=Test/CN=$4" "${5:-basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid}" "${6:-$START}" "${7:-$END}"
}
root root "Test Root"; root other "Other Root"
inter int root 10 "Test Intermediate"
inter int-expired root 11 "Expired Intermediate" "" 20200101000000Z 20200201000000Z
inter int-noca root 12 "Not A CA" 'basicConstraints=critical,CA:FALSE\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid'
inter int-names root 13 "Constrained Intermediate" "$CAEXT\nauthorityKeyIdentifier=keyid\nnameConstraints=critical,permitted;DNS:permitted.test"
cp ca/root.pem trust/roots.pem; cp ca/other.pem trust/other-roots.pem

: > manifest.tsv
row() { local IFS=$'\t'; echo "$*" >> manifest.tsv; }
# leaf NAME SERIAL SAN CN PEERKIND PEERNAME EXPECTED [CA] [KEYTYPE] [EXTRA EXT] [START END] [ca options]
leaf() {
  local n=$1 serial=$2 san=$3 cn=$4 kind=$5 peer=$6 want=$7 ca=${8:-int} kt=${9:-ec} extra=${10:-} s=${11:-$START} e=${12:-$END}
  shift $(( $# < 12 ? $# : 12 ))
  key "server/$n.key" "$kt"
  local ext="basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid"
  case "$extra" in *extendedKeyUsage*) ;; *) ext+="\nextendedKeyUsage=serverAuth" ;; esac
  [ -n "$san" ] && ext+="\nsubjectAltName=$san"
  [ -n "$extra" ] && ext+="\n$extra"
  sign "$ca" "$serial" "server/$n.pem" "server/$n.key" "/O=Test${cn:+/CN=$cn}" "$ext" "$s" "$e" "$@"
  case "$ca" in root|other) cp "server/$n.pem" "server/$n-chain.pem" ;; *) cat "server/$n.pem" "ca/$ca.pem" > "server/$n-chain.pem" ;; esac
  row "$n" "server/$n-chain.pem" "server/$n.key" "$kind" "$peer" trust/roots.pem "$want"
}
also() { row "$1" "server/$1-chain.pem" "server/$1.key" "$2" "$3" "${5:-trust/roots.pem}" "$4"; } # same certificate, another peer name

leaf good 1001 'DNS:good.test,DNS:localhost,IP:127.0.0.1,IP:::1' good.test dns good.test ok
also good dns GOOD.test ok; also good dns good.test. ok; also good ip 127.0.0.1 ok; also good ip ::1 ok
also good dns sub.good.test nameMismatch; also good dns other.test nameMismatch; also good ip 127.0.0.2 nameMismatch
also good dns good.test unknownIssuer trust/other-roots.pem
leaf good-rsa 1002 'DNS:rsa.test' rsa.test dns rsa.test ok int rsa2048
leaf good-ed25519 1003 'DNS:ed.test' ed.test dns ed.test ok int ed25519
leaf sni-a 1004 'DNS:a.multi.test' a.multi.test dns a.multi.test ok; also sni-a dns b.multi.test nameMismatch
leaf sni-b 1005 'DNS:b.multi.test' b.multi.test dns b.multi.test ok; also sni-b dns a.multi.test nameMismatch
leaf wildcard 1006 'DNS:*.wild.test' '*.wild.test' dns x.wild.test ok
also wildcard dns X.Wild.Test ok; also wildcard dns xn--bcher-kva.wild.test ok; also wildcard dns wild.test nameMismatch
also wildcard dns x.y.wild.test nameMismatch; also wildcard dns .wild.test invalidPeerName
leaf wildcard-partial 1007 'DNS:f*.part.test' part.test dns foo.part.test nameMismatch
leaf wildcard-top 1008 'DNS:*.test' top.test dns host.test nameMismatch
leaf wildcard-middle 1009 'DNS:a.*.mid.test' mid.test dns a.b.mid.test nameMismatch
leaf ip-only 1010 'IP:127.0.0.1' 'ip only' ip 127.0.0.1 ok; also ip-only dns localhost nameMismatch; also ip-only ip ::1 nameMismatch
leaf ip-as-dns 1011 'DNS:127.0.0.1' 127.0.0.1 ip 127.0.0.1 nameMismatch
leaf cn-only 1012 '' cnonly.test dns cnonly.test nameMismatch
leaf cn-not-san 1013 'DNS:san.test' cn.test dns cn.test nameMismatch; also cn-not-san dns san.test ok
leaf wrong-host 1014 'DNS:wrong.test' wrong.test dns good.test nameMismatch
leaf idn 1015 'DNS:xn--bcher-kva.test' xn--bcher-kva.test dns xn--bcher-kva.test ok
leaf expired 1016 'DNS:good.test' good.test dns good.test expired int ec '' 20200101000000Z 20200201000000Z
leaf not-yet-valid 1017 'DNS:good.test' good.test dns good.test notYetValid int ec '' 20480101000000Z 20491231235959Z
leaf untrusted-root 1018 'DNS:good.test' good.test dns good.test unknownIssuer other
cat ca/other.pem >> server/untrusted-root-chain.pem; sed -i '/^untrusted-root\t/s/unknownIssuer/untrustedRoot/' manifest.tsv
leaf revoked 1019 'DNS:good.test' good.test dns good.test ok
row revoked+crl server/revoked-chain.pem server/revoked.key dns good.test trust/roots.pem revoked
row good+crl server/good-chain.pem server/good.key dns good.test trust/roots.pem ok
row good+stale-crl server/good-chain.pem server/good.key dns good.test trust/roots.pem revocationUnavailable
leaf missing-int 1020 'DNS:good.test' good.test dns good.test unknownIssuer
cp server/missing-int.pem server/missing-int-chain.pem
leaf int-expired 1021 'DNS:good.test' good.test dns good.test expired int-expired
leaf int-noca 1022 'DNS:good.test' good.test dns good.test invalidIssuer int-noca
leaf names-ok 1023 'DNS:permitted.test' permitted.test dns permitted.test ok int-names
leaf names-bad 1024 'DNS:good.test' good.test dns good.test nameConstraint int-names
leaf weak-key 1025 'DNS:good.test' good.test dns good.test weakKey int rsa1024
leaf weak-sha1 1026 'DNS:good.test' good.test dns good.test weakSignature int ec '' $START $END -md sha1
leaf client-eku 1027 'DNS:good.test' good.test dns good.test wrongPurpose int ec 'extendedKeyUsage=clientAuth'
leaf unknown-critical 1028 'DNS:good.test' good.test dns good.test unsupportedExtension int ec '1.3.6.1.4.1.55555.1=critical,ASN1:NULL'
leaf must-staple 1029 'DNS:staple.test' staple.test dns staple.test ok int ec 'tlsfeature=status_request'
row must-staple+policy server/must-staple-chain.pem server/must-staple.key dns staple.test trust/roots.pem revocationUnavailable
many=$(for i in $(seq -w 1 700); do printf 'DNS:host-%s.large.example.test,' "$i"; done)
leaf large 1030 "${many%,}" large.test dns host-700.large.example.test ok   # Certificate message spans two records
key server/self-signed.key
q openssl req -x509 -key server/self-signed.key -subj /CN=good.test -days 9000 -set_serial 1031 -addext subjectAltName=DNS:good.test -addext extendedKeyUsage=serverAuth -config <(printf '[req]\ndistinguished_name=d\n[d]\n') -out server/self-signed.pem
cp server/self-signed.pem server/self-signed-chain.pem
also self-signed dns good.test selfSigned; also self-signed dns good.test ok server/self-signed.pem

# revocation: CRLs, and OCSP answers to staple
q openssl ca -config ca/int/ca.cnf -cert ca/int.pem -keyfile ca/int.key -revoke server/revoked.pem -crl_reason keyCompromise
crl() { q openssl ca -config "ca/$1/ca.cnf" -cert "ca/$1.pem" -keyfile "ca/$1.key" -gencrl -crl_lastupdate "$2" -crl_nextupdate "$3" -out "$4"; }
crl root $START $END crl/root.pem; crl int $START $END crl/int.pem; cat crl/root.pem crl/int.pem > crl/all.pem
crl int 20200101000000Z 20200201000000Z crl/int-stale.pem; cat crl/root.pem crl/int-stale.pem > crl/stale.pem
key ca/ocsp.key
sign int 1040 ca/ocsp.pem ca/ocsp.key '/O=Test/CN=OCSP responder' 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=OCSPSigning\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid'
ocsp() { # out cert [options]
  local o=$1 c=$2; shift 2
  q openssl ocsp -sha256 -issuer ca/int.pem -cert "$c" -no_nonce -reqout tmp.req
  q openssl ocsp -index ca/int/index.txt -CA ca/int.pem -rsigner ca/ocsp.pem -rkey ca/ocsp.key -reqin tmp.req -respout "ocsp/$o.der" "$@"
  rm -f tmp.req
}
ocsp good server/must-staple.pem -ndays 9000; ocsp revoked server/revoked.pem -ndays 9000
ocsp short server/must-staple.pem -nmin 1; ocsp wrong-cert server/good.pem -ndays 9000
# The issuer itself may answer; nobody else may whom it has not charged with it.
by() { # out cert signer key
  q openssl ocsp -sha256 -issuer ca/int.pem -cert "$2" -no_nonce -reqout tmp.req
  q openssl ocsp -index ca/int/index.txt -CA ca/int.pem -rsigner "$3" -rkey "$4" -reqin tmp.req -respout "ocsp/$1.der" -ndays 9000
  rm -f tmp.req
}
by by-issuer server/must-staple.pem ca/int.pem ca/int.key
by uncharged server/must-staple.pem server/good.pem server/good.key
OEXT='basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=OCSPSigning\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid'
sign other 1041 ca/ocsp-other.pem ca/ocsp.key '/O=Test/CN=Foreign responder' "$OEXT"
by stranger server/must-staple.pem ca/ocsp-other.pem ca/ocsp.key
sign int 1042 ca/ocsp-expired.pem ca/ocsp.key '/O=Test/CN=Former responder' "$OEXT" 20200101000000Z 20200201000000Z
by expired-signer server/must-staple.pem ca/ocsp-expired.pem ca/ocsp.key
cp ca/int/index.txt tmp.index; : > ca/int/index.txt
by unknown server/must-staple.pem ca/ocsp.pem ca/ocsp.key
mv tmp.index ca/int/index.txt

# client identities
CEXT='basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid'
client() { # name serial ca CN [start end] [ext]
  key "client/$1.key"; sign "$3" "$2" "client/$1.pem" "client/$1.key" "/O=Test/CN=$4" "${7:-$CEXT}" "${5:-$START}" "${6:-$END}"
  if [ "$3" = other ]; then cp "client/$1.pem" "client/$1-chain.pem"; else cat "client/$1.pem" "ca/$3.pem" > "client/$1-chain.pem"; fi
}
client alice 2001 int alice; client expired 2002 int mallory 20200101000000Z 20200201000000Z
client untrusted 2003 other eve; client server-eku 2004 int bob '' '' "${CEXT/clientAuth/serverAuth}"
client revoked 2005 int carol
q openssl ca -config ca/int/ca.cnf -cert ca/int.pem -keyfile ca/int.key -revoke client/revoked.pem
crl int $START $END crl/int.pem; cat crl/root.pem crl/int.pem > crl/all.pem
p12() { local o=$1 p=$2; shift 2; q openssl pkcs12 -export -inkey client/alice.key -in client/alice.pem -certfile ca/int.pem -name alice -passout "pass:$p" -out "client/$o.p12" "$@"; }
p12 alice "$pw"                                   # AES-256-CBC, PBKDF2, SHA-256 MAC
p12 alice-empty ''; p12 alice-nomac "$pw" -nomac; p12 alice-utf8 'pä§§wörd'
p12 alice-3des "$pw" -keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1
openssl pkcs12 -export -legacy -inkey client/alice.key -in client/alice.pem -certfile ca/int.pem -name alice -passout "pass:$pw" -out client/alice-rc2.p12 >>build.log 2>&1 || rm -f client/alice-rc2.p12
q openssl pkcs12 -export -nokeys -in client/alice.pem -passout "pass:$pw" -out client/no-key.p12
head -c 200 client/alice.p12 > client/broken.p12; printf 'not a certificate\n' > client/garbage.pem
q openssl pkcs8 -topk8 -v2 aes256 -in client/alice.key -passout "pass:$pw" -out client/alice-protected.key
q openssl x509 -in client/alice.pem -outform DER -out client/alice.der
q openssl pkcs8 -topk8 -nocrypt -in client/alice.key -outform DER -out client/alice-key.der
printf '%s\n' "$pw" > client/password.txt

# keys in every form, each with the certificates that go with it in ec.pem and rsa.pem
for kt in ec rsa; do
  if [ $kt = ec ]; then src=client/alice; else src=server/good-rsa; fi
  cp "$src-chain.pem" "key/$kt.pem"; cp "$src.key" "key/$kt-pkcs8.pem"
  q openssl pkey -in "$src.key" -traditional -out "key/$kt-traditional.pem"
  q openssl pkey -in "$src.key" -traditional -aes256 -passout "pass:$pw" -out "key/$kt-traditional-protected.pem"
  q openssl pkey -in "$src.key" -traditional -outform DER -out "key/$kt-traditional.der"
  q openssl pkcs8 -topk8 -nocrypt -in "$src.key" -outform DER -out "key/$kt-pkcs8.der"
  q openssl pkcs8 -topk8 -v2 aes256 -in "$src.key" -passout "pass:$pw" -out "key/$kt-pkcs8-protected.pem"
  q openssl pkcs8 -topk8 -v2 aes256 -in "$src.key" -passout "pass:$pw" -outform DER -out "key/$kt-pkcs8-protected.der"
done
openssl pkcs8 -topk8 -v1 PBE-SHA1-RC2-40 -provider legacy -provider default -in client/alice.key -passout "pass:$pw" -out key/ec-rc2.pem >>build.log 2>&1 || rm -f key/ec-rc2.pem
q openssl genrsa -out key/tiny.key 768
q openssl req -x509 -key key/tiny.key -subj /CN=tiny.test -days 9000 -addext subjectAltName=DNS:tiny.test -config <(printf '[req]\ndistinguished_name=d\n[d]\n') -out key/tiny.pem

for f in server/*.pem; do case "$f" in *-chain.pem) continue;; esac
  printf '%s\t%s\n' "$(basename "$f" .pem)" "$(openssl x509 -in "$f" -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64)"; done > pins.tsv
rm -f ca/*/*.old ca/*/*.attr.old build.log
echo "made $(ls server/*.key | wc -l) server and $(ls client/*.p12 client/*-chain.pem | wc -l) client identities, $(wc -l < manifest.tsv) cases in $out"
