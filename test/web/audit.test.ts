import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { parseVerifierKey, type VerifierKey } from '../../packages/audit/notes.ts'
import { createSigner } from '../../src/operations/audit-log/sign.ts'
import { createWitnessServer } from '../../src/witness/listen.ts'
import { createWitness } from '../../src/witness/witness.ts'
import { enterAll, origin } from '../support/audit.ts'
import { atEndOfFile } from '../support/end-of-file.ts'
import { issueCard } from '../support/network.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'
import { artifacts, openChromium } from './support/chromium.ts'
import { freePort, textOf } from './support/demo.ts'

const chromium = await openChromium()

/**
 * A witness, and a policy that names it.
 * @param logs those that it cosigns, which may be added to
 */
async function openWitness(logs: readonly VerifierKey[]): Promise<{ key: string; policy: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'page-witness-'))
  const pair = generateKeyPairSync('ed25519')
  const witness = createWitness({ name: 'witness.example/w', ...pair, logs, folder })
  const server = createWitnessServer(witness, assert.ifError)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(() => void server.close())
  const { port } = server.address() as AddressInfo
  const policy = join(folder, 'policy')
  await writeFile(policy, `witness w ${witness.verifierKey} http://127.0.0.1:${port}\nquorum w\n`)
  return { key: witness.verifierKey, policy }
}

suite('the page of the audit log', { skip: chromium.leftOut }, () => {
  let service: TestService
  let privateUrl: string
  let sign: ReturnType<typeof createSigner>
  let witnessKey: string
  const enter = async () => {
    await enterAll(service.database)
    // At most one checkpoint a second.
    for (let tries = 0; (await sign()) !== 'signed'; tries += 1) {
      assert.ok(tries < 1_200, 'Nothing was signed for two minutes.')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  before(async () => {
    const [port, privatePort] = [await freePort(), await freePort()]
    const baseUrl = `http://127.0.0.1:${port}`
    privateUrl = `http://127.0.0.1:${privatePort}`
    // The port that injected calls name is one of its own, too.
    const env = { BASE_URL: baseUrl, PRIVATE_BASE_URL: privateUrl, PORT: '8080' }
    const logs: VerifierKey[] = []
    const witness = await openWitness(logs)
    witnessKey = witness.key
    service = await openTestService({
      env: {
        ...env,
        AUDIT_LOG_ORIGIN: origin,
        RATE_LIMIT: 'off',
        AUDIT_WITNESS_POLICY: witness.policy,
      },
    })
    // The log begins with its first entry, and has its keys then.
    await enterAll(service.database)
    const given = await service.call('GET', '//.well-known/audit-log-keys', { token: null })
    logs.push(...given.text.trimEnd().split('\n').map(parseVerifierKey))
    await service.publicServer.listen({ host: '127.0.0.1', port })
    await service.privateServer.listen({ host: '127.0.0.1', port: privatePort })
    sign = createSigner(service.audit)
  })

  test('it verifies checkpoints, their growth, an entry and its way, and a receipt', async () => {
    const { publicToken } = await issueCard(service)
    const shown = await service.call('GET', `/card-pin/${publicToken}/pin`)
    await enter()
    const { complaints, page } = await chromium.visit()
    await page.goto(`${privateUrl}/audit`)
    await page.waitForSelector('html[data-ready=true]')
    assert.match(await textOf(page, '#checkpoint-said'), /^Verified/)
    const size = Number((await textOf(page, '#checkpoint')).match(/entries\s*(\d+)/)?.[1])
    assert(size > 3, String(size))
    await page.fill('#entry-index', String(size - 1))
    await page.click('#entry-form button')
    await page.waitForSelector('#entry-said.good')
    assert.match(await textOf(page, '#entry-said'), new RegExp(`^Verified: entry ${size - 1} `))
    const receipt = await service.call('GET', `/receipts/${shown.headers['audit-entry']}`)
    assert.equal(receipt.status, 200)
    await page.fill('#receipt', receipt.text)
    await page.click('#receipt-form button')
    await page.waitForSelector('#receipt-said.good')
    const text = JSON.parse(await textOf(page, '#receipt-text'))
    assert.deepEqual([text.act, text.card], ['pin.revealed', publicToken])
    assert.match(await textOf(page, '#checkpoint'), /witness\.example\/w \(not verified/)
    await page.fill('#witness-keys', witnessKey)
    await page.click('#witness-form button')
    await page.waitForSelector('#witness-said.good')
    assert.match(await textOf(page, '#checkpoint'), /witness\.example\/w \(Ed25519, 20/)
    await issueCard(service)
    await enter()
    await page.waitForSelector('#growth tr:nth-child(2)')
    assert.match(await textOf(page, '#growth tr:first-child'), /yes$/)
    await page.screenshot({ path: join(artifacts, 'audit.png'), fullPage: true })
    assert.deepEqual(complaints, [])
    // It asks again every two seconds for as long as it is open.
    await page.close()
  })

  test('it says where a log goes back', async () => {
    const { page } = await chromium.visit()
    await issueCard(service)
    await enter()
    const [older] = await sql<{ note: string }>(
      service.database,
      'select note from audit_checkpoint order by size limit 1',
    )
    await page.route('**/audit/checkpoint', (route) =>
      isBack ? route.fulfill({ body: older?.note ?? '' }) : route.continue(),
    )
    let isBack = false
    await page.goto(`${privateUrl}/audit`)
    await page.waitForSelector('#checkpoint-said.good')
    isBack = true
    await page.waitForSelector('#checkpoint-said.bad')
    assert.match(await textOf(page, '#checkpoint-said'), /^rolled_back: /)
    assert.match(await textOf(page, '#growth tr:first-child'), /NO$/)
    await page.close()
  })

  test('it says what is not as it was signed: a hash of a tile, a word of a receipt', async () => {
    const { page } = await chromium.visit()
    const receipt = await receiptOfOne()
    const extra = /^extra (.*)$/m.exec(receipt)?.[1] ?? ''
    const opening = Buffer.from(extra, 'base64').toString().replace('pin.revealed', 'pin.set')
    const bent = receipt.replace(extra, Buffer.from(opening).toString('base64'))
    await page.goto(`${privateUrl}/audit`)
    await page.waitForSelector('html[data-ready=true]')
    await page.fill('#receipt', bent)
    await page.click('#receipt-form button')
    await page.waitForSelector('#receipt-said.bad')
    assert.match(await textOf(page, '#receipt-said'), /^Not verified: /)
    await page.fill('#entry-index', '123456')
    await page.click('#entry-form button')
    await page.waitForSelector('#entry-said.bad')
    assert.match(
      await textOf(page, '#entry-said'),
      /^The newest entry is [0-9]+, the first one 0\.$/,
    )
    await sql(
      service.database,
      `update audit_tile set hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1)
       where level = 0 and tile_index = 0 returning level`,
    )
    // A tile is never asked for again: another browser meets the bent one.
    const { page: other } = await chromium.visit()
    await other.goto(`${privateUrl}/audit`)
    await other.waitForSelector('#checkpoint-said.bad')
    assert.match(await textOf(other, '#checkpoint-said'), /differs from the signed root/)
    for (const each of [page, other]) await each.close()
  })

  const receiptOfOne = async () => {
    const { publicToken } = await issueCard(service)
    const shown = await service.call('GET', `/card-pin/${publicToken}/pin`)
    await enter()
    return (await service.call('GET', `/receipts/${shown.headers['audit-entry']}`)).text
  }
})
