import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { format } from 'node:util'
import { SignJWT } from 'jose'
import pg from 'pg'
import { ConfigError, readConfig } from '../../src/service/config/config.ts'
import { describeStartFailure } from '../../src/service/config/start-failure.ts'
import { openDatabases } from '../../src/service/database.ts'
import { createLog } from '../../src/service/log.ts'
import { createService } from '../../src/service/service.ts'
import { openPostgres } from '../support/postgres.ts'
import {
  makeFolder,
  type Program,
  type StartedProgram,
  spawnProgram,
  startProgram,
} from '../support/process.ts'

const postgres = await openPostgres()

const isListening = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

/** The program must end by itself, with one message and no listener. */
async function refusal(program: StartedProgram): Promise<string> {
  assert.equal((await program.ended).code, 1)
  for (const url of [program.baseUrl, program.privateUrl]) assert.ok(!(await isListening(url)))
  assert.ok(!program.stdout().includes('Pinfold is ready'))
  return program.stderr()
}

test('production says in one message all that it lacks, and opens no listener', async () => {
  const env = {
    SANDBOX: 'false',
    RATE_LIMIT: 'off',
    PORT: 'x',
    LOG_LEVEL: 'loud',
    PRIVATE_HOST: '0.0.0.0',
    OUTBOUND_ALLOW_CIDRS: '0.0.0.0/0',
    AUTH_ISSUER: 'http://issuer.test',
    AUTH_AUDIENCE: 'a',
  }
  const said = await refusal(await spawnProgram({ dataDir: await makeFolder(), env }))
  for (const name of [
    'DATABASE_URL',
    'MASTER_KEY_FILE',
    'ADMIN_JWK_FILE',
    'BASE_URL',
    'RATE_LIMIT',
    'HSM',
    'PORT',
    'LOG_LEVEL',
    'PRIVATE_HOST',
    'OUTBOUND_ALLOW_CIDRS',
    'AUTH_ISSUER',
  ]) {
    assert.match(said, new RegExp(`- ${name}\\b`), said)
  }
  assert.ok(!/\n\s+at /.test(said), 'a message, no stack')
})

test('a service that is reachable beyond loopback must set SANDBOX', () => {
  for (const env of [
    { DATABASE_URL: 'postgres://127.0.0.1:1/none' },
    { AUTH_ISSUER: 'https://issuer.test', AUTH_AUDIENCE: 'a' },
    { HOST: '0.0.0.0' },
    { PRIVATE_HOST: '0.0.0.0' },
  ]) {
    const said = faultsOf(env)
    assert.match(said, /SANDBOX must be set/)
    assert.ok(said.includes(Object.keys(env)[0] ?? ''), said)
  }
})

const faultsOf = (env: Readonly<Record<string, string>>): string => {
  try {
    readConfig(env)
    return ''
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return String(describeStartFailure(error))
  }
}

/** Does in this process what a start does until it listens. @returns all that it would print. */
async function openHere(env: Readonly<Record<string, string>>): Promise<string> {
  const printed: string[] = []
  const config = readConfig({ DATA_DIR: await makeFolder(), ...env })
  const log = createLog(config.logLevel, { write: (line) => printed.push(line) })
  const open = async () => {
    const databases = await openDatabases(config, log)
    try {
      const { privateServer, publicServer } = await createService(config, databases, log)
      await Promise.all([publicServer.close(), privateServer.close()])
    } finally {
      await databases.close()
    }
  }
  await open().catch((error: unknown) => printed.push(format(describeStartFailure(error))))
  return printed.join('\n')
}

/** All that production needs, and the administrator's key. */
async function productionOn(url: string) {
  const folder = await makeFolder()
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await writeFile(join(folder, 'admin.jwk'), JSON.stringify(publicKey.export({ format: 'jwk' })))
  await writeFile(join(folder, 'master.key'), randomBytes(32).toString('hex'), {
    mode: 0o600,
  })
  const env = {
    SANDBOX: 'false',
    DATABASE_URL: url,
    MASTER_KEY_FILE: join(folder, 'master.key'),
    ADMIN_JWK_FILE: join(folder, 'admin.jwk'),
    BASE_URL: 'https://cards.test',
    ACCEPT_SOFTWARE_HSM: 'yes',
  }
  return { env, folder, privateKey }
}

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('production starts on what it needs alone', async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const { env, folder, privateKey } = await productionOn(url)
    await chmod(join(folder, 'master.key'), 0o644)
    const careless = { PRIVATE_HOST: '0.0.0.0', OUTBOUND_ALLOW_CIDRS: '0.0.0.0/0' }
    const meant: Record<string, string> = {}
    await t.test(
      'production refuses an insecure setting and names the variable that accepts it',
      () => {
        const said = faultsOf({ ...env, ...careless })
        for (const name of ['PLAIN_PRIVATE_LISTENER', 'OPEN_FILES', 'WIDE_OUTBOUND']) {
          assert.ok(said.includes(`Or set ACCEPT_${name}=yes`), said)
          meant[`ACCEPT_${name}`] = 'yes'
        }
      },
    )
    const program = await startProgram({
      dataDir: await makeFolder(),
      env: { ...env, ...careless, ...meant },
    })
    await t.test('an accepted insecure setting lets the service start, and is logged', () => {
      for (const name of ['ACCEPT_SOFTWARE_HSM', ...Object.keys(meant)]) {
        assert.match(program.stdout(), new RegExp(`"level":40.*"accepted":"${name}"`))
      }
    })
    await t.test('it has no demo data, and writes no secrets', async () => {
      assert.deepEqual(program.sandbox, {})
      const form = { client_id: 'demo-client', client_secret: 'a' }
      assert.equal((await askToken(program, form)).status, 401)
    })
    await t.test('its documents do not disclose the address of the private listener', async () => {
      const page = await fetch(`${program.baseUrl}/docs/api/private/clients`)
      const text = await page.text()
      assert.equal(page.status, 200)
      assert.match(text, /\$PRIVATE_URL\/clients/)
      assert.ok(!text.includes(new URL(program.privateUrl).host))
    })
    await t.test('its first administrator gets a token by key alone', () =>
      provesAdministrator(program, privateKey),
    )
    await t.test('without an issuer of identities it has no console', async () => {
      for (const path of ['/console', '/console/sign-in', '/console/issuer/auth']) {
        assert.equal((await fetch(`${program.privateUrl}${path}`)).status, 404, path)
      }
      assert.doesNotMatch(program.stdout(), /sign-in\?as=/)
    })
    assert.equal((await program.kill('SIGTERM')).code, 0)
    assert.doesNotMatch(program.stdout(), /another key/)
    await t.test('another key of its administrator is told in its log', async () => {
      const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      await chmod(join(folder, 'master.key'), 0o600)
      await writeFile(env.ADMIN_JWK_FILE, JSON.stringify(publicKey.export({ format: 'jwk' })))
      const said = await openHere(env)
      assert.match(said, /"clientId":"admin".*has another key, from ADMIN_JWK_FILE/)
    })
    await t.test('a sandbox is refused by its database', async () => {
      const { MASTER_KEY_FILE } = env
      const said = await openHere({ DATABASE_URL: url, SANDBOX: 'true', MASTER_KEY_FILE })
      assert.match(said, /database belongs to a production/)
    })
  })

  test('another secret’s file in the place of the administrator’s key is named, and nothing of it told', async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const { env } = await productionOn(url)
    const secret = `abcdef${randomBytes(29).toString('hex')}`
    await writeFile(env.ADMIN_JWK_FILE, secret)
    const said = await openHere(env)
    // One line for the operator, and not where in the program it was thrown.
    assert.match(
      said,
      /must hold the public JWK of the first administrator, or a set of several\.$/,
    )
    assert.ok(!said.includes(secret.slice(0, 6)), said)

    const { privateKey } = generateKeyPairSync('ed25519')
    const jwk = privateKey.export({ format: 'jwk' })
    await writeFile(env.ADMIN_JWK_FILE, JSON.stringify(jwk))
    const why = await openHere(env)
    assert.match(why, /of several\. The key is private: send only its public part\.$/)
    assert.ok(!why.includes(String(jwk.d)), why)
    await rm(env.ADMIN_JWK_FILE)
    assert.match(await openHere(env), /of several\. ENOENT/)
  })

  test('a database of a sandbox is refused by production, under the same master key too', async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const { env } = await productionOn(url)
    const { MASTER_KEY_FILE } = env
    const made = await openHere({ DATABASE_URL: url, SANDBOX: 'true', MASTER_KEY_FILE })
    assert.match(made, /"msg":"migrated"\}\s*$/)
    // As an older program left it: a newer one must not bring another's database up to date.
    const database = new pg.Client({ connectionString: url })
    await database.connect()
    await database.query('delete from migration where migration_number > 1')
    assert.match(await openHere(env), /database belongs to a sandbox/)
    const { rows } = await database.query('select migration_number as number from migration')
    await database.end()
    assert.deepEqual(rows, [{ number: 1 }])
  })
})

const askToken = ({ baseUrl }: Program, form: Record<string, string>): Promise<Response> =>
  fetch(`${baseUrl}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
  })

async function provesAdministrator(program: Program, privateKey: KeyObject): Promise<void> {
  const assertion = await new SignJWT({ jti: randomBytes(16).toString('hex') })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer('admin')
    .setSubject('admin')
    .setAudience('https://cards.test')
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(privateKey)
  const granted = await askToken(program, {
    client_id: 'admin',
    client_assertion: assertion,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  })
  assert.equal(granted.status, 200)
  assert.equal(((await granted.json()) as { scope: string }).scope, 'admin')
}
