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
  ['a host is empty', `postgres://a:hunter2x@h1,,h2/p?${written}`, /number 2 is no HOST:PORT/],
  ['a port is none', `postgres://a:hunter2x@h1,h2:x/p?${written}`, /number 2 is no HOST:PORT/],
  [
    'a port is too great',
    `postgres://a:hunter2x@h1:65536,h2/p?${written}`,
    /number 1 is no HOST:PORT/,
  ],
  ['ports stand apart', `postgres://a:hunter2x@h1,h2/p?${written}&port=1,2`, /and port besides/],
  [
    'hosts stand in the query',
    `postgres://a:hunter2x@/p?host=h1,h2&${written}`,
    /must name several hosts as/,
  ],
  ['the scheme is another', `pg://a:hunter2x@h1,h2/p?${written}`, /must name several hosts as/],
  [
    'it is to be shared out',
    `postgres://a:hunter2x@h1,h2/p?${written}&load_balance_hosts=random`,
    /no load_balance_hosts/,
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
