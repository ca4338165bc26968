import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openTestService, sql } from '../../support/service.ts'

const folder = await mkdtemp(join(tmpdir(), 'pinfold-admins-'))
after(() => rm(folder, { recursive: true, force: true }))

const publicJwk = (kid?: string) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...publicKey.export({ format: 'jwk' }), ...(kid !== undefined && { kid }) }
}

let files = 0
const fileOf = async (content: unknown): Promise<string> => {
  files += 1
  const file = join(folder, `admins-${files}.jwk`)
  await writeFile(file, JSON.stringify(content))
  return file
}

test('a set of keys names several first administrators, each by its kid, in whom nobody had a hand', async () => {
  const keys = [publicJwk('ana'), publicJwk('bo')]
  const env = { ADMIN_JWK_FILE: await fileOf({ keys }) }
  const service = await openTestService({ env })
  const get = (clientId: string) =>
    service.call('GET', `//clients/${clientId}`, { as: 'admin', listener: 'private' })
  for (const [at, clientId] of ['ana', 'bo'].entries()) {
    const { json } = await get(clientId)
    assert.deepEqual(
      [json.kind, json.createdBy, json.controlledBy, json.jwks.keys[0].x],
      ['admin', null, [], keys[at]?.x],
    )
  }
  assert.equal((await get('admin')).status, 404)
})

test('the key of a first administrator that the file puts back counts as another one than before', async () => {
  const env = { ADMIN_JWK_FILE: await fileOf(publicJwk()) }
  const service = await openTestService({ env })
  const of = async () =>
    (await service.call('GET', '//clients/admin', { as: 'admin', listener: 'private' })).json
  assert.equal((await of()).credentialsVersion, 1)
  const body = { jwks: publicJwk() }
  await service.call('PATCH', '//clients/admin', { as: 'admin', listener: 'private', body })
  const { database, dataDir } = service
  await sql(database, `update client set credentials_changed_at = now() - interval '1 day'`)
  await openTestService({ database, dataDir, env })
  const after = await of()
  // Whoever had given it theirs may hold a token still, and stays behind it until it is confirmed.
  assert.deepEqual([after.credentialsVersion, after.controlledBy], [3, ['demo-admin']])
  const [row] = await sql<{ recent: boolean }>(
    database,
    `select credentials_changed_at > now() - interval '1 hour' as recent from client
     where client_id = 'admin'`,
  )
  assert.equal(row?.recent, true)
})

test('a set that could make one person two is refused before anybody is registered', async () => {
  const jwk = publicJwk('ana')
  for (const [keys, why] of [
    [[jwk, { ...jwk, kid: 'bo' }], /twice/],
    [[jwk, publicJwk('ana')], /one kid/],
    [[jwk, publicJwk()], /needs a kid/],
    [[jwk, publicJwk('a b')], /needs a kid/],
    [[], /1 to 10/],
  ] as const) {
    const env = { ADMIN_JWK_FILE: await fileOf({ keys }) }
    await assert.rejects(openTestService({ env }), (error: Error) => {
      assert.match(error.message, /must hold the public JWK of the first administrator/)
      return why.test(String(error.cause))
    })
  }
})
