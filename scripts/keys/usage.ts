/** What `pinfold keys --help` says; `npm run keys -- …` is the same. */
export const usage = `Keys of this installation.

  pinfold keys list                        every key: use, state, check value, how far a rotation is
  pinfold keys acts                        what was done to keys lately, when and by whom
  pinfold keys generate NAME               a new version, pending until it is rotated to
  pinfold keys rotate NAME [--wait]        to the pending version, or to a new one
  pinfold keys rotate master-key [--check-value X]
                                              puts every key under another key of the master key file
  pinfold keys import NAME --under ZMK     a key block, read from standard input
  pinfold keys import NAME --components N --algorithm AES --bytes 32 --check-value X
                                              opens the entry of a key that N people bring
  pinfold keys import --entry ID --person 'Ana Lim' --check-value X
                                              one component, asked for or read from standard input
  pinfold keys export NAME --under ZMK     a key block, for the other side of the zone
  pinfold keys retire NAME VERSION [--delete]
                                              a version with nothing under it; --delete forgets it
  pinfold keys retire NAME --zone CLIENT | --zone-master

NAME is one of the installation's keys (list shows them). With one of these it is another's:
  --zone CLIENT --formats ISO_FORMAT_0,ISO_FORMAT_3
                         a key that the network client's PIN blocks come under
  --zone-master          a key that other keys travel under

  --exportable           lets a generated key leave under a zone master key
  --version N            of the key to export; the one in use unless given
  --algorithm AES|TDES, --bytes 16|24|32
  --check-value X        the key's check value, three bytes or more in hexadecimal
  --wait                 until everything has moved to the new version
  --json                 answers for programs
  --client ID --jwk-file FILE
                         the administrator, and its private key; the sandbox's own unless given
  --url URL --private-url URL
                         a service elsewhere

It goes through the private listener of the server that holds DATA_DIR, or that answers at
PRIVATE_BASE_URL; where none runs it opens the service in this process, on the same database, which must be
at this version's schema.
No key is ever printed, and none is taken from the command line.

Exits with 0 when it is done, 1 when it is refused, 2 when the command is not understood, 3 when no
server could be reached and none opened.
`
