import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'pg-connection-string'
import { parseConfig } from '../../../src/service/config/config.ts'
import { parseDatabaseUrl } from '../../../src/storage/engine/database-url.ts'

/** What the driver makes of each address. */
const serversOf = (url: string) =>
  parseDatabaseUrl(url).addresses.map((address) => {
    const { database, host, password, port, user } = parse(address)
    return { user, password, host, port, database }
  })

test('of several hosts each is an address with what all have in common, in their order', () => {
  const url =
    'postgresql://pinfold:s%40cret@one.test:5432,two.test,[2001:db8::7]:5434/cards?target_session_attrs=read-write&application_name=a,b'
  const common = { user: 'pinfold', password: 's@cret', database: 'cards' }
  assert.deepEqual(serversOf(url), [
    { ...common, host: 'one.test', port: '5432' },
    { ...common, host: 'two.test', port: '' },
    { ...common, host: '2001:db8::7', port: '5434' },
  ])
  assert.equal(parseDatabaseUrl(url).sessions, 'read-write')
})

test('an address of one host is left as it is, in any form that the driver takes', () => {
  for (const url of [
    'postgres://a:b,c@db.test/pinfold',
    'postgres:///pinfold?host=/var/run/postgresql',
    'socket:/var/run/postgresql?db=pinfold',
    '/var/run/postgresql pinfold',
    'postgres://a:b@db.test/p,q?sslmode=verify-full',
  ]) {
    assert.deepEqual(parseDatabaseUrl(url), { addresses: [url], sessions: 'any' })
  }
  const primary = 'postgres://db.test/pinfold?target_session_attrs=primary'
  assert.deepEqual(parseDatabaseUrl(primary), { addresses: [primary], sessions: 'primary' })
})

test('sslmode prefer, require and verify-ca are read as verify-full, without a warning', () => {
  for (const mode of ['prefer', 'require', 'verify-ca']) {
    const { addresses } = parseDatabaseUrl(`postgres://db.test/p?sslmode=${mode}&sslrootcert=/ca`)
    assert.deepEqual(addresses, ['postgres://db.test/p?sslmode=verify-full&sslrootcert=/ca'])
  }
  const compatible = 'postgres://db.test/p?uselibpqcompat=true&sslmode=require'
  assert.deepEqual(parseDatabaseUrl(compatible).addresses, [compatible])
})

for (const [what, url, fault] of [
  ['is of another scheme', 'http://a:hunter2x@h/p', /must be postgresql:/],
  [
    'is for another driver',
    'jdbc:postgresql://h/p?user=a&password=hunter2x',
    /must be postgresql:/,
  ],
  ['is of keys and values', 'host=h user=a password=hunter2x dbname=p', /must be postgresql:/],
  ['has no scheme', 'a:hunter2x@h/p', /must be postgresql:/],
  ['has a slash in its password', 'postgres://a:hunter2x/@h/p', /%2F for \//],
  ['has a number sign in its password', 'postgres://a:hunter2x#@h/p', /%23 for #/],
  ['has a question mark in its password', 'postgres://a:hunter2x?@h/p', /%3F for \?/],
  ['has a port that is none', 'postgres://a:hunter2x@h:99999/p', /must be postgresql:/],
  [
    'has an unknown sslmode',
    'postgres://a:hunter2x@h/p?sslmode=verify_full',
    /must have an sslmode of/,
  ],
] as const) {
  test(`an address that ${what} is refused, without a word of the password`, () => {
    const { faults } = parseConfig({ SANDBOX: 'true', DATABASE_URL: url })
    assert.equal(faults.length, 1, faults.join())
    assert.match(faults[0] ?? '', fault)
    assert.doesNotMatch(faults[0] ?? '', /hunter2x/)
  })
}

test('what a password may hold is decoded, and a host may be IPv6 or the folder of a socket', () => {
  assert.deepEqual(serversOf('postgres://us%40er:p%25s%40s%2Fw%23o%3Frd%3Ax@[::1]:5433/p'), [
    { user: 'us@er', password: 'p%s@s/w#o?rd:x', host: '::1', port: '5433', database: 'p' },
  ])
  assert.deepEqual(serversOf('postgres://a:b@/p?host=/var/run/postgresql'), [
    { user: 'a', password: 'b', host: '/var/run/postgresql', port: '', database: 'p' },
  ])
})

const written = 'target_session_attrs=read-write'

for (const [what, url, fault] of [
  ['none is asked to be writable', 'postgres://a:hunter2x@h1,h2/p', /add target_session_attrs/],
  ['any will do', 'postgres://a:hunter2x@h1,h2/p?target_session_attrs=any', /add target_session/],
  [
    'a standby is asked for',
    'postgres://a:hunter2x@h1,h2/p?target_session_attrs=standby',
    /one of|of any/,
  ],
  [
    'one host is to be read only',
    'postgres://a:hunter2x@h1/p?target_session_attrs=read-only',
    /of any, read-write, primary/,
  ],
  ['it is said twice', `postgres://a:hunter2x@h1,h2/p?${written}&${written}`, /one target_session/],
  ['a host is empty', `postgres://a:hunter2x@h1,,h2/p?${written}`, /number 2 is not HOST:PORT/],
  ['a port is none', `postgres://a:hunter2x@h1,h2:x/p?${written}`, /number 2 is not HOST:PORT/],
  [
    'a port is too great',
    `postgres://a:hunter2x@h1:65536,h2/p?${written}`,
    /number 1 is not HOST:PORT/,
  ],
  ['ports stand apart', `postgres://a:hunter2x@h1,h2/p?${written}&port=1,2`, /but also port/],
  [
    'hosts stand in the query',
    `postgres://a:hunter2x@/p?host=h1,h2&${written}`,
    /must name several hosts as/,
  ],
  ['the scheme is another', `pg://a:hunter2x@h1,h2/p?${written}`, /must name several hosts as/],
  [
    'it is to be shared out',
    `postgres://a:hunter2x@h1,h2/p?${written}&load_balance_hosts=random`,
    /not have load_balance_hosts/,
  ],
] as const) {
  test(`several hosts are refused, without a word of the password, where ${what}`, () => {
    const { faults } = parseConfig({ SANDBOX: 'true', DATABASE_URL: url })
    assert.equal(faults.length, 1, faults.join())
    assert.match(faults[0] ?? '', /^DATABASE_URL /)
    assert.match(faults[0] ?? '', fault)
    assert.doesNotMatch(faults[0] ?? '', /hunter2x/)
  })
}
