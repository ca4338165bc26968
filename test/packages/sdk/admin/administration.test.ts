import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, test } from 'node:test'
import {
  type Administration,
  createAdministration,
  Problem,
} from '../../../../packages/sdk/admin/admin.ts'
import { openServedService, type ServedService } from '../../../support/served-service.ts'
import { freePort } from '../../../support/switch.ts'

let service: ServedService
let admin: Administration
before(async () => {
  service = await openServedService()
  admin = createAdministration({ ...service.sandbox, ...service.sandbox.admin })
})

test('every operation of the private listener that needs a token is a method', async () => {
  const file = new URL('../../../../api/private.openapi.json', import.meta.url)
  const { paths }: { paths: Record<string, Record<string, Record<string, unknown>>> } = JSON.parse(
    await readFile(file, 'utf8'),
  )
  const ids = Object.values(paths)
    .flatMap((item) => Object.values(item))
    .filter(({ security }) => Array.isArray(security) && security.length > 0)
    .map(({ operationId }) => String(operationId))
  assert.ok(ids.length > 60)
  assert.deepEqual(Object.keys(admin).sort(), ids.sort())
})

test('an operator registers, reads, lists and changes a link', async () => {
  const created = await admin.createLink({
    body: {
      linkName: 'acme-1',
      networkId: 'demo-network',
      direction: 'listen',
      host: '127.0.0.1',
      port: await freePort(),
      profile: 'ascii-1987',
    },
  })
  assert.ok(created && 'linkName' in created)
  assert.equal((await admin.getLink({ linkName: 'acme-1' })).port, created.port)
  const names: string[] = []
  for await (const { linkName } of admin.listLinks({ query: { limit: 1 } })) names.push(linkName)
  assert.ok(names.includes('acme-1'), names.join())
  const changed = await admin.changeLink({ linkName: 'acme-1', body: { active: false } })
  assert.ok(changed && 'state' in changed)
  assert.equal(changed.state, 'disabled')
})

test('a number names a product in a path, and a call without content answers nothing', async () => {
  assert.equal((await admin.findProduct({ productId: 1001 })).bin, '400000')
  const granted = await admin.grantProduct({ clientId: 'demo-other-client', productId: 1001 })
  assert.equal(granted, undefined)
})

test('a repeated key gets the first answer again, whose request is named', async () => {
  const ids: (string | undefined)[] = []
  const options = {
    idempotencyKey: 'rotate-once',
    onAnswer: ({ requestId }: { requestId: string | undefined }) => ids.push(requestId),
  }
  const first = await admin.rotateKey({ key: 'cvk', body: {} }, options)
  assert.deepEqual(await admin.rotateKey({ key: 'cvk', body: {} }, options), first)
  assert.equal(ids.filter((id) => id !== undefined).length, 2)
})

test('a refusal names the members at fault', async () => {
  const refused = admin.openComponentEntry({
    // @ts-expect-error a key has 16, 24 or 32 bytes
    body: { family: 'zone-master', key: 'zmk', lengthBytes: 17, componentCount: 2 },
  })
  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof Problem)
    assert.match(error.message, /\/keyCheckValue must be given\. \/lengthBytes must be one of 16/)
    return true
  })
})

test('a name in a path stays one segment', async () => {
  await assert.rejects(admin.getLink({ linkName: '..' }), { code: 'invalid_argument' })
  await assert.rejects(admin.getLink({ linkName: 'a/b?c' }), { code: 'not_found' })
})
