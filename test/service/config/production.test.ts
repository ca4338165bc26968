import assert from 'node:assert/strict'
import { chmod, copyFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { parseConfig } from '../../../src/service/config/config.ts'
import { refusals } from '../../../src/service/config/production.ts'
import type { Environment } from '../../../src/service/config/variables.ts'
import { makeAuthority, writeIdentity } from '../../support/certificates.ts'
import { makeFolder } from '../../support/process.ts'

/** What production refuses to start with: the table, row by row. */

let sound: Record<string, string>
let folder: string

before(async () => {
  folder = await makeFolder()
  const file = async (name: string, mode: number) => {
    await writeFile(join(folder, name), 'x')
    await chmod(join(folder, name), mode)
  }
  await Promise.all([
    file('master.key', 0o600),
    file('open.key', 0o644),
    file('group.key', 0o640),
    file('writable.key', 0o620),
    file('admin.jwk', 0o644),
    file('open.jwk', 0o666),
  ])
  await symlink(join(folder, 'open.key'), join(folder, 'link.key'))
  const { certFile, keyFile } = await writeIdentity(
    folder,
    'tls',
    await (await makeAuthority()).issue('cards.test'),
  )
  const open = join(folder, 'tls-open.key')
  await copyFile(keyFile, open)
  await chmod(open, 0o644)
  sound = {
    SANDBOX: 'false',
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: 'postgres://pinfold:hunter2x@127.0.0.1/pinfold',
    MASTER_KEY_FILE: join(folder, 'master.key'),
    ADMIN_JWK_FILE: join(folder, 'admin.jwk'),
    BASE_URL: 'https://cards.test',
    ACCEPT_SOFTWARE_HSM: 'yes',
    CERT: certFile,
    KEY: keyFile,
    OPEN: open,
  }
})

const faultsOf = (environment: Environment): readonly string[] => parseConfig(environment).faults
const inFolder = (name: string): string => join(folder, name)
const tls = (listener: '' | 'PRIVATE_', key = sound.KEY ?? '') => ({
  [`${listener}TLS_CERT_FILE`]: sound.CERT ?? '',
  [`${listener}TLS_KEY_FILE`]: key,
})

const remote = (query: string) => ({ DATABASE_URL: `postgres://a:b@db.test/pinfold${query}` })

type Changes = Readonly<Record<string, string>>

/** A console, with its credentials in a file. */
const people = (variable = 'CONSOLE_CLIENT_SECRET_FILE', file = 'master.key') => ({
  CONSOLE_ISSUER: 'https://people.test',
  CONSOLE_CLIENT_ID: 'pinfold',
  CONSOLE_ROLES: 'viewer=everybody',
  PRIVATE_BASE_URL: 'https://ops.test',
  [variable]: inFolder(file),
})

/** Each is refused by exactly one row, which names its variable. */
const careless = (): readonly (readonly [variable: string, changes: Changes])[] => [
  ['DATABASE_URL', { DATABASE_URL: '' }],
  ['DATABASE_URL', remote('')],
  ['DATABASE_URL', remote('?sslmode=disable')],
  ['DATABASE_URL', remote('?sslmode=no-verify')],
  ['DATABASE_URL', remote('?ssl=no-verify')],
  ['DATABASE_URL', remote('?sslmode=require&uselibpqcompat=true')],
  ['DATABASE_URL', { ...remote(''), PGSSLMODE: 'no-verify' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgres:///pinfold?host=db.test' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgres:///pinfold', PGHOST: 'db.test' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgres://a:b@127.0.0.1/p?host=db.test' }],
  [
    'DATABASE_URL',
    { DATABASE_URL: 'postgres://a:b@127.0.0.1,db.test/p?target_session_attrs=read-write' },
  ],
  ['MIGRATION_DATABASE_URL', { MIGRATION_DATABASE_URL: 'postgres://a:b@db.test/pinfold' }],
  ['HSM', { ACCEPT_SOFTWARE_HSM: '' }],
  ['MASTER_KEY_FILE', { MASTER_KEY_FILE: '' }],
  ['MASTER_KEY_FILE', { DATA_DIR: folder }],
  ['MASTER_KEY_FILE', { MASTER_KEY_FILE: inFolder('open.key') }],
  ['MASTER_KEY_FILE', { MASTER_KEY_FILE: inFolder('link.key') }],
  ['MASTER_KEY_FILE', { MASTER_KEY_FILE: inFolder('writable.key') }],
  [
    'PKCS11_PIN_FILE',
    {
      HSM: 'pkcs11',
      PKCS11_MODULE: '/lib/token.so',
      PKCS11_TOKEN_LABEL: 'a',
      PKCS11_PIN_FILE: inFolder('open.key'),
    },
  ],
  ['TLS_KEY_FILE', tls('', sound.OPEN)],
  ['PRIVATE_TLS_KEY_FILE', { ...tls('PRIVATE_', sound.OPEN), PRIVATE_BASE_URL: 'https://a.test' }],
  ['ADMIN_JWK_FILE', { ADMIN_JWK_FILE: '' }],
  ['ADMIN_JWK_FILE', { ADMIN_JWK_FILE: inFolder('open.jwk') }],
  ['BASE_URL', { BASE_URL: 'http://cards.test' }],
  ['HOST', { HOST: '0.0.0.0' }],
  ['HOST', { HOST: '::' }],
  ['HOST', { HOST: '10.0.0.1' }],
  ['PRIVATE_HOST', { PRIVATE_HOST: '0.0.0.0' }],
  ['PRIVATE_HOST', { PRIVATE_HOST: '::', PRIVATE_BASE_URL: 'https://private.test' }],
  ['AUTH_ISSUER', { AUTH_ISSUER: 'http://issuer.test', AUTH_AUDIENCE: 'a' }],
  ['AUTH_ISSUER', { AUTH_ISSUER: 'http://127.0.0.1:9', AUTH_AUDIENCE: 'a' }],
  [
    'PRIVATE_AUTH_ISSUER',
    { PRIVATE_AUTH_ISSUER: 'http://issuer.test', PRIVATE_AUTH_AUDIENCE: 'a' },
  ],
  [
    'PRIVATE_AUTH_AUDIENCE',
    {
      AUTH_ISSUER: 'https://issuer.test',
      AUTH_AUDIENCE: 'a',
      PRIVATE_AUTH_ISSUER: 'https://issuer.test',
      PRIVATE_AUTH_AUDIENCE: 'a',
    },
  ],
  ...[
    '0.0.0.0/0',
    '0.0.0.0/1,128.0.0.0/1',
    '::/0',
    '10.0.0.0/7',
    'fd00::/8',
    '169.254.0.0/16',
    '::ffff:0:0/96',
    '::ffff:169.254.169.254',
    '64:ff9b::/96',
    'fd00:ec2::/32',
  ].map((cidrs) => ['OUTBOUND_ALLOW_CIDRS', { OUTBOUND_ALLOW_CIDRS: cidrs }] as const),
  ['CONSOLE_ISSUER', { ...people(), CONSOLE_ISSUER: 'http://issuer.test' }],
  ['CONSOLE_CLIENT_SECRET_FILE', people('CONSOLE_CLIENT_SECRET_FILE', 'open.key')],
  ['CONSOLE_CLIENT_JWK_FILE', people('CONSOLE_CLIENT_JWK_FILE', 'open.key')],
  ['PRIVATE_BASE_URL', { ...people(), PRIVATE_BASE_URL: 'http://127.0.0.1:8081' }],
  ...['AUTH', 'PRIVATE_AUTH'].map(
    (prefix) =>
      [
        'CONSOLE_AUDIENCE',
        {
          ...people(),
          [`${prefix}_ISSUER`]: 'https://issuer.test',
          [`${prefix}_AUDIENCE`]: 'people',
          CONSOLE_AUDIENCE: 'people',
        },
      ] as const,
  ),
  ['NODE_TLS_REJECT_UNAUTHORIZED', { NODE_TLS_REJECT_UNAUTHORIZED: '0' }],
  ['RATE_LIMIT', { RATE_LIMIT: 'off' }],
  ['AUDIT_RETENTION_DAYS', { AUDIT_RETENTION_DAYS: '399' }],
  ['AUDIT_ERASURE_LEAST_DAYS', { AUDIT_ERASURE_LEAST_DAYS: '6' }],
  ['SANDBOX_SEED', { SANDBOX_SEED: 'a' }],
  ['SANDBOX_CLOCK', { SANDBOX_CLOCK: '2026-11-20T08:00:00Z' }],
]

test('a file of a database URL that cannot be read is named with its error', () => {
  const { DATABASE_URL } = remote('?sslmode=verify-full&sslrootcert=/no/such/file')
  assert.deepEqual(faultsOf({ ...sound, DATABASE_URL }), [
    'DATABASE_URL: sslrootcert /no/such/file cannot be read: ENOENT.',
  ])
})

test('production starts with what is sound, and with what is as safe', async () => {
  const verified = inFolder('tls.crt')
  for (const changes of [
    {},
    remote('?sslmode=verify-full'),
    remote(`?sslmode=verify-full&sslrootcert=${verified}`),
    // This driver verifies by each of them.
    remote('?sslmode=require'),
    remote('?sslmode=prefer'),
    { ...remote(''), PGSSLMODE: 'verify-full' },
    { DATABASE_URL: 'postgres://a:b@localhost/pinfold' },
    { DATABASE_URL: 'postgres://a:b@[::1]/pinfold?sslmode=disable' },
    { DATABASE_URL: 'postgres:///pinfold?host=/var/run/postgresql' },
    { DATABASE_URL: 'socket:/var/run/postgresql?db=pinfold' },
    { ...tls(''), HOST: '0.0.0.0' },
    { ...tls('PRIVATE_'), PRIVATE_HOST: '::', PRIVATE_BASE_URL: 'https://private.test' },
    people(),
    { ...people('CONSOLE_CLIENT_JWK_FILE'), CONSOLE_AUDIENCE: 'people', CONSOLE_READ_ONLY: 'yes' },
    { OUTBOUND_ALLOW_CIDRS: '10.20.0.0/16,fd12:3456::/32,192.168.7.7' },
    ...(process.getuid?.() === 0 ? [{ MASTER_KEY_FILE: inFolder('group.key') }] : []),
  ]) {
    assert.deepEqual(faultsOf({ ...sound, ...changes }), [], JSON.stringify(changes))
  }
})

test('each careless setting is refused by its variable, with what to do, and accepted only where it may be', async () => {
  const met = new Set<unknown>()
  for (const [variable, changes] of careless()) {
    const environment = { ...sound, ...changes }
    const faults = faultsOf(environment)
    const said = JSON.stringify({ changes, faults })
    assert.equal(faults.length, 1, said)
    const [fault = ''] = faults
    const row = refusals.find(
      (each) => each.variable === variable && fault.endsWith(endOf(each)) && !isOther(each, fault),
    )
    assert.ok(row && fault.startsWith(`${variable} `), said)
    met.add(row)
    if (row.acceptance === null) continue
    const wrong = faultsOf({ ...environment, [row.acceptance]: 'true' })
    assert.ok(wrong.includes(`${row.acceptance} must be one of yes.`), wrong.join())
    const { config, faults: left } = parseConfig({ ...environment, [row.acceptance]: 'yes' })
    assert.deepEqual(left, [], said)
    const told = config.accepted.filter(({ acceptance }) => acceptance === row.acceptance)
    assert.ok(told[0]?.found.startsWith(`${variable} `), said)
    for (const secret of ['hunter2x', 'a:b@']) assert.ok(!fault.includes(secret), said)
  }
  const unmet = refusals.filter((row) => !met.has(row)).map(({ variable }) => variable)
  assert.deepEqual(unmet, [], 'every row is met')
})

test('in the sandbox none of it is refused, and nothing is said to be accepted', () => {
  const environment = { SANDBOX: 'true', PRIVATE_HOST: '0.0.0.0', ACCEPT_WIDE_OUTBOUND: 'yes' }
  const { config, faults } = parseConfig({ ...environment, OUTBOUND_ALLOW_CIDRS: '0.0.0.0/0' })
  assert.deepEqual([config.accepted, faults], [[], []])
})

const endOf = ({ acceptance, remedy }: (typeof refusals)[number]): string =>
  acceptance === null ? remedy : `${remedy} Or set ${acceptance}=yes to accept the risk.`

/** Two rows of a variable may end alike; what they find tells them apart. */
const isOther = ({ why = '' }: (typeof refusals)[number], fault: string): boolean =>
  !fault.includes(why)
