import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, cp, mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { examine } from '../../src/service/doctor/examine.ts'
import type { Finding } from '../../src/service/doctor/finding.ts'
import { rememberInstallation } from '../../src/storage/engine/installation.ts'
import { makeAuthority } from '../support/certificates.ts'
import { freePorts } from '../support/free-ports.ts'
import { pgliteImage } from '../support/pglite-image.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, makeMigratedFolder, startProgram } from '../support/process.ts'
import { openServerDatabase, sql } from '../support/service.ts'
import { openSoftHsm } from '../support/softhsm.ts'
import { launchPinfold, pinfold } from './run-pinfold.ts'

const postgres = await openPostgres()
const softHsm = openSoftHsm()

type Env = Record<string, string>
let ports: Env

before(async () => {
  const [port, privatePort] = await freePorts()
  ports = { PORT: String(port), PRIVATE_PORT: String(privatePort) }
})

/** A sandbox in which nothing is wrong. */
const healthy = async (): Promise<Env> => ({ DATA_DIR: await makeFolder(), ...ports })

/** A production in which nothing is wrong but that its HSM is software, which is a warning. */
const production = async (): Promise<Env & { folder: string }> => {
  const folder = await makeFolder()
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await writeFile(join(folder, 'admin.jwk'), JSON.stringify(publicKey.export({ format: 'jwk' })))
  const masterKey = randomBytes(32).toString('hex')
  await writeFile(join(folder, 'master.key'), masterKey, { mode: 0o600 })
  const { url } = await openServerDatabase(postgres, 2)
  return {
    folder,
    ...(await healthy()),
    SANDBOX: 'false',
    DATABASE_URL: url,
    MASTER_KEY_FILE: join(folder, 'master.key'),
    ADMIN_JWK_FILE: join(folder, 'admin.jwk'),
    BASE_URL: 'https://cards.test',
    ACCEPT_SOFTWARE_HSM: 'yes',
  }
}

// The server of the tests is fast rather than durable, and the doctor is right to say so.
const isOfTestServer = ({ found }: Finding): boolean =>
  found === 'The server runs with fsync and full_page_writes off.'

const faultsIn = (findings: readonly Finding[]): Finding[] =>
  findings.filter((finding) => finding.verdict === 'fault' && !isOfTestServer(finding))

/**
 * The faults that are found must be exactly one of this check, and say what, why and what to do.
 */
async function assertNamed(
  env: Env,
  check: string,
  found: RegExp,
  now?: () => Date,
): Promise<void> {
  const faults = faultsIn(await examine(env, now))
  assert.deepEqual(
    faults.map((each) => each.check),
    [check],
    JSON.stringify(faults, null, 2),
  )
  assert.match(faults[0]?.found ?? '', found)
  assert.ok((faults[0]?.why ?? '').length > 20)
  assert.ok((faults[0]?.remedy ?? '').length > 10)
}

test('nothing is said to be wrong where nothing is', async () => {
  assert.deepEqual(faultsIn(await examine(await healthy())), [])
})

test('the doctor checks the environment against its rules', async () => {
  await assertNamed({ ...(await healthy()), LOG_LEVEL: 'loud' }, 'configuration', /LOG_LEVEL/)
  await assertNamed({ ...(await healthy()), OUTBOUND_ALLOW_CIDRS: '0.0.0.0/0' }, 'egress', /0\/0/)
  const { PORT = '' } = ports
  await assertNamed({ ...(await healthy()), PRIVATE_PORT: PORT }, 'configuration', /must differ/)
  const inClear = { ...(await healthy()), BASE_URL: 'http://cards.test' }
  await assertNamed(inClear, 'base-url', /http to another machine/)
  const issuer = { AUTH_ISSUER: 'http://127.0.0.1:9', AUTH_AUDIENCE: 'a', SANDBOX: 'true' }
  await assertNamed({ ...(await healthy()), ...issuer }, 'issuer', /127\.0\.0\.1:9/)
})

test('a data directory or a file of secrets that others may read is named', async () => {
  const open = await healthy()
  await chmod(open.DATA_DIR ?? '', 0o755)
  await assertNamed(open, 'data-directory', /mode 0755/)
  const env = await healthy()
  await writeFile(join(env.DATA_DIR ?? '', 'sandbox.json'), '{}', { mode: 0o644 })
  await assertNamed(env, 'secret-files', /sandbox\.json has mode 0644/)
})

test('a port that another program has is named', async (t: TestContext) => {
  const other = createServer((socket) => socket.end('no\r\n'))
  t.after(() => other.close())
  await once(other.listen(Number(ports.PORT), '127.0.0.1'), 'listening')
  await assertNamed(
    await healthy(),
    'listeners',
    /[Aa]nother program uses|program other than Pinfold/,
  )
})

test("a sandbox whose link's port another program has says so at its start, and doctor finds it", async (t) => {
  const other = createServer((socket) => socket.end('no\r\n'))
  t.after(() => other.close())
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const address = other.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const warnings = (await examine({ ...(await healthy()), LINK_PORT: port })).filter(
    ({ check, verdict }) => check === 'listeners' && verdict === 'warning',
  )
  assert.equal(warnings.length, 1)
  assert.ok(
    warnings[0]?.found.startsWith(`Another program uses 127.0.0.1:${port}, the sandbox's link`),
  )
  const program = await startProgram({ env: { LINK_PORT: port } })
  const said = `Another program uses 127.0.0.1:${port} (EADDRINUSE): set LINK_PORT.`
  assert.ok(program.stdout().includes(`Link              ${said}`), program.stdout())
  assert.equal(program.sandbox.link, null)
  await program.kill('SIGTERM')
})

test('an embedded database that does not open is named, and so is one under another master key', async () => {
  const broken = await healthy()
  await mkdir(join(broken.DATA_DIR ?? '', 'pgdata'))
  await writeFile(join(broken.DATA_DIR ?? '', 'pgdata', 'PG_VERSION'), '9\n')
  await assertNamed(broken, 'database', /does not open/)
  const used = { ...ports, DATA_DIR: await makeMigratedFolder() }
  assert.equal((await pinfold(used, 'products', 'list')).code, 0)
  assert.deepEqual(faultsIn(await examine(used)), [])
  const other = randomBytes(32).toString('hex')
  await writeFile(join(used.DATA_DIR, 'master.key'), other)
  await assertNamed(used, 'master-key', /uses the master key with check value/)
})

test('a certificate that has ended or soon ends, and a key that others may read, are named', async () => {
  const folder = await makeFolder()
  const authority = await makeAuthority()
  const past = new Date(Date.now() - 3_600_000)
  const lasting = { from: new Date(past.getTime() - 3_600_000), to: past }
  const write = async (name: string, identity: { cert: string; key: string }, mode: number) => {
    const files = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) }
    await writeFile(files.cert, identity.cert)
    await writeFile(files.key, identity.key, { mode })
    return { ...(await healthy()), TLS_CERT_FILE: files.cert, TLS_KEY_FILE: files.key }
  }
  const over = await write('over', await authority.issue('localhost', lasting), 0o600)
  await assertNamed(over, 'configuration', /TLS_CERT_FILE: the certificate has expired/)
  const open = await write('open', await authority.issue('localhost'), 0o644)
  await assertNamed(open, 'tls', /can be read by other accounts/)
  const findings = await examine(open)
  const [soon] = findings.filter(({ verdict }) => verdict === 'warning')
  assert.match(soon?.found ?? '', /expires in [01] days/)
})

test('a token that is not there, and a PIN that is wrong, are named', {
  skip: softHsm.leftOut,
}, async () => {
  const settings = await softHsm.createToken()
  // A module is loaded once in a process: one that is there has a process of its own.
  const faultsWith = async (changes: Env): Promise<string[]> => {
    const run = changes.PKCS11_MODULE === undefined ? launchPinfold : pinfold
    const { stdout } = await run(
      {
        ...softHsm.env,
        ...(await healthy()),
        HSM: 'pkcs11',
        PKCS11_MODULE: settings.module,
        PKCS11_TOKEN_LABEL: settings.tokenLabel,
        PKCS11_PIN_FILE: settings.pinFile,
        ...changes,
      },
      'doctor',
      '--json',
    )
    return faultsIn(JSON.parse(stdout).findings).map(({ check, found }) => `${check} ${found}`)
  }
  assert.deepEqual(await faultsWith({}), [])
  const wrong = join(await makeFolder(), 'pin')
  await writeFile(wrong, '00000000', { mode: 0o600 })
  const cases: [Env, RegExp][] = [
    [{ PKCS11_TOKEN_LABEL: 'nobody' }, /^hsm .*cannot be used: .*nobody/],
    [{ PKCS11_MODULE: '/no/module.so' }, /^hsm The PKCS#11 module .* does not exist/],
    [{ PKCS11_PIN_FILE: wrong }, /^hsm .*refused the PIN/],
  ]
  for (const [changes, expected] of cases) {
    const [fault = '', ...others] = await faultsWith(changes)
    assert.match(fault, expected)
    assert.deepEqual(others, [])
  }
})

test('faults of a database server are named', { skip: postgres.leftOut }, async (t) => {
  const env = await production()
  const { database, url } = await openServerDatabase(postgres, 2)
  const on = (changes: Env) => ({ ...env, DATABASE_URL: url, ...changes })
  await t.test('nothing is wrong', async () => {
    const findings = await examine(env)
    assert.deepEqual(faultsIn(findings), [])
    const [warning] = findings.filter(({ check }) => check === 'accepted')
    assert.match(warning?.found ?? '', /^ACCEPT_SOFTWARE_HSM is yes: HSM is software/)
  })
  await t.test('it is away, and no password is told', async () => {
    const DATABASE_URL = 'postgres://pinfold:hunter2x@127.0.0.1:9/pinfold'
    await assertNamed(on({ DATABASE_URL }), 'database', /ECONNREFUSED/)
    assert.ok(!JSON.stringify(await examine(on({ DATABASE_URL }))).includes('hunter2x'))
  })
  await t.test('the clocks differ', async () => {
    const later = () => new Date(Date.now() + 60_000)
    await assertNamed(on({}), 'clock', /60 s ahead of/, later)
    const earlier = () => new Date(Date.now() - 60_000)
    await assertNamed(on({}), 'clock', /60 s behind/, earlier)
  })
  await t.test('what is committed may be lost', async () => {
    const name = new URL(url).pathname.slice(1)
    await sql(database, `alter database "${name}" set synchronous_commit = off`)
    await assertNamed(on({}), 'durability', /synchronous_commit off/)
    await sql(database, `alter database "${name}" reset synchronous_commit`)
  })
  await t.test('it is of another kind, or under another master key', async () => {
    await rememberInstallation(database, { kind: 'production', masterKeyCheckValue: '0123456789' })
    await assertNamed(on({}), 'master-key', /0123456789/)
    const faults = faultsIn(await examine({ ...on({}), SANDBOX: 'true' }))
    assert.match(
      faults.find(({ check }) => check === 'installation')?.found ?? '',
      /belongs to a production/,
    )
  })
  await t.test('a newer program wrote it', async () => {
    await sql(
      database,
      `insert into migration (migration_number, file_name) values (9000, 'later.sql')`,
    )
    await assertNamed(on({}), 'schema', /9000/)
  })
  await t.test('a version from before the first release made it', async () => {
    await sql(
      database,
      `update migration set file_name = '0001_clients.sql' where migration_number = 1`,
    )
    await assertNamed(on({}), 'schema', /from before the first release created this database/)
  })
  await t.test('the files of the master key and of the administrator are unfit', async () => {
    const short = join(env.folder, 'short.key')
    await writeFile(short, 'abc', { mode: 0o600 })
    await assertNamed({ ...env, MASTER_KEY_FILE: short }, 'master-key', /64 hexadecimal digits/)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const file = join(env.folder, 'private.jwk')
    await writeFile(file, JSON.stringify(privateKey.export({ format: 'jwk' })))
    await assertNamed({ ...env, ADMIN_JWK_FILE: file }, 'administrator', /private/)
  })
})

test('ten faults at once are all named, by one command that exits with 1 and changes nothing', async () => {
  const dataDir = await makeFolder()
  await cp(await pgliteImage('empty'), join(dataDir, 'pgdata'), { recursive: true })
  await chmod(dataDir, 0o755)
  const masterKey = join(dataDir, 'master.key')
  await writeFile(masterKey, 'abc', { mode: 0o644 })
  await writeFile(join(dataDir, 'admin.jwk'), '{"kty":"EC"}')
  const before = await readdir(dataDir)
  const env = {
    SANDBOX: 'false',
    DATA_DIR: dataDir,
    DATABASE_URL: 'postgres://127.0.0.1:9/none',
    MASTER_KEY_FILE: masterKey,
    ADMIN_JWK_FILE: join(dataDir, 'admin.jwk'),
    BASE_URL: 'http://cards.test',
    RATE_LIMIT: 'off',
    OUTBOUND_ALLOW_CIDRS: '0.0.0.0/0',
    HSM: 'pkcs11',
    PKCS11_MODULE: '/no/module.so',
    PKCS11_TOKEN_LABEL: 'x',
    PKCS11_PIN_FILE: '/no/pin',
    PORT: '18080',
    PRIVATE_PORT: '18080',
    AUTH_ISSUER: 'http://127.0.0.1:9',
    AUTH_AUDIENCE: 'a',
  }
  const { code, stdout } = await launchPinfold(env, 'doctor', '--json')
  const told = JSON.parse(stdout)
  assert.deepEqual([code, told.healthy], [1, false])
  const named = new Set(faultsIn(told.findings).map(({ check }) => check))
  const planted = [
    ...['configuration', 'data-directory', 'administrator', 'database', 'hsm', 'issuer'],
  ]
  assert.deepEqual(
    planted.filter((check) => !named.has(check)),
    [],
    stdout,
  )
  const variables = told.findings.map(({ found }: Finding) => found.split(' ')[0])
  const refused = [
    'PORT',
    'MASTER_KEY_FILE',
    'BASE_URL',
    'OUTBOUND_ALLOW_CIDRS',
    'RATE_LIMIT',
    'AUTH_ISSUER',
  ]
  assert.deepEqual(
    refused.filter((variable) => !variables.includes(variable)),
    [],
    stdout,
  )
  assert.deepEqual(await readdir(dataDir), before)
  const text = (await pinfold(env, 'doctor')).stdout
  assert.match(text, /FAULT +hsm: The PKCS#11 module/)
  assert.match(text, /why .*\n +do /)
})
