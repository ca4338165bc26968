import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { chmod, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { SignJWT } from 'jose'
import pg from 'pg'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, type StartedProgram, spawnProgram, startProgram } from '../support/process.ts'

const postgres = await openPostgres()
const skip = postgres.leftOut

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

test('whoever reaches beyond a laptop must say whether it is a sandbox', async () => {
  for (const env of [
    { DATABASE_URL: 'postgres://127.0.0.1:1/none' },
    { AUTH_ISSUER: 'https://issuer.test', AUTH_AUDIENCE: 'a' },
    { HOST: '0.0.0.0' },
    { PRIVATE_HOST: '0.0.0.0' },
  ]) {
    const said = await refusal(await spawnProgram({ dataDir: await makeFolder(), env }))
    assert.match(said, /SANDBOX must be said/)
    assert.ok(said.includes(Object.keys(env)[0] ?? ''), said)
  }
})

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

suite('on a PostgreSQL server', { skip }, () => {
  test('production has no demo data and writes no secrets; its first administrator gets a token by key alone', async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const { env, privateKey } = await productionOn(url)
    const program = await startProgram({ dataDir: await makeFolder(), env })
    assert.deepEqual(program.sandbox, {})
    const askToken = (form: Record<string, string>) =>
      fetch(`${program.baseUrl}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
      })
    assert.equal((await askToken({ client_id: 'demo-client', client_secret: 'a' })).status, 401)
    const assertion = await new SignJWT({ jti: randomBytes(16).toString('hex') })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer('admin')
      .setSubject('admin')
      .setAudience('https://cards.test')
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(privateKey)
    const granted = await askToken({
      client_id: 'admin',
      client_assertion: assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    })
    assert.equal(granted.status, 200)
    assert.equal(((await granted.json()) as { scope: string }).scope, 'admin')
    assert.equal((await program.kill('SIGTERM')).code, 0)
    assert.doesNotMatch(program.stdout(), /another key/)

    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await writeFile(env.ADMIN_JWK_FILE, JSON.stringify(publicKey.export({ format: 'jwk' })))
    const replaced = await startProgram({ dataDir: await makeFolder(), env })
    assert.match(replaced.stdout(), /"clientId":"admin".*has another key, from ADMIN_JWK_FILE/)
    await replaced.kill('SIGTERM')

    const sandbox = await spawnProgram({
      dataDir: await makeFolder(),
      env: { DATABASE_URL: url, SANDBOX: 'true', MASTER_KEY_FILE: env.MASTER_KEY_FILE },
    })
    assert.match(await refusal(sandbox), /database is a production's/)
  })

  test('what is accepted lets production start, and is told in its log each time', async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const { env, folder } = await productionOn(url)
    await chmod(join(folder, 'master.key'), 0o644)
    const careless = { PRIVATE_HOST: '0.0.0.0', OUTBOUND_ALLOW_CIDRS: '0.0.0.0/0' }
    const refused = await spawnProgram({
      dataDir: await makeFolder(),
      env: { ...env, ...careless },
    })
    const said = await refusal(refused)
    const meant: Record<string, string> = {}
    for (const name of ['PLAIN_PRIVATE_LISTENER', 'OPEN_FILES', 'WIDE_OUTBOUND']) {
      assert.ok(said.includes(`Or set ACCEPT_${name}=yes`), said)
      meant[`ACCEPT_${name}`] = 'yes'
    }
    const program = await startProgram({
      dataDir: await makeFolder(),
      env: { ...env, ...careless, ...meant },
    })
    for (const name of ['ACCEPT_SOFTWARE_HSM', ...Object.keys(meant)]) {
      const line = new RegExp(`"level":40.*"accepted":"${name}"`)
      assert.match(program.stdout(), line)
    }
    await program.kill('SIGTERM')
  })

  test('another secret’s file in the place of the administrator’s key is named, and nothing of it told', async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const { env } = await productionOn(url)
    const secret = `abcdef${randomBytes(29).toString('hex')}`
    await writeFile(env.ADMIN_JWK_FILE, secret)
    const program = await spawnProgram({ dataDir: await makeFolder(), env })
    const said = (await refusal(program)) + program.stdout()
    assert.match(said, /must hold the public JWK of the first administrator/)
    assert.ok(!said.includes(secret.slice(0, 6)), said)
  })

  test('a database of a sandbox is refused by production, under the same master key too', async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const { env, folder } = await productionOn(url)
    const { MASTER_KEY_FILE } = env
    const sandbox = await startProgram({
      dataDir: folder,
      env: { DATABASE_URL: url, SANDBOX: 'true', MASTER_KEY_FILE },
    })
    await sandbox.kill('SIGTERM')
    // As an older program left it: a newer one must not bring another's database up to date.
    const database = new pg.Client({ connectionString: url })
    await database.connect()
    await database.query('delete from migration where migration_number > 1')
    const production = await spawnProgram({ dataDir: await makeFolder(), env })
    assert.match(await refusal(production), /database is a sandbox's/)
    const { rows } = await database.query('select migration_number as number from migration')
    await database.end()
    assert.deepEqual(rows, [{ number: 1 }])
  })
})
