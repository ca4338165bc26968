import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { createSigner } from '../../src/operations/audit/sign.ts'
import { enterAll, origin } from '../support/audit.ts'
import { issueCard } from '../support/network.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'
import { artifacts, openChromium } from './support/chromium.ts'
import { freePort, textOf } from './support/demo.ts'

const chromium = await openChromium()

suite('the page of the audit log', { skip: chromium.leftOut }, () => {
  let service: TestService
  let privateUrl: string
  let sign: ReturnType<typeof createSigner>
  const enter = async () => {
    await enterAll(service.database)
    // At most one checkpoint a second.
    while ((await sign()) !== 'signed') await new Promise((resolve) => setTimeout(resolve, 100))
  }
  before(async () => {
    const [port, privatePort] = [await freePort(), await freePort()]
    const baseUrl = `http://127.0.0.1:${port}`
    privateUrl = `http://127.0.0.1:${privatePort}`
    // The port that injected calls name is one of its own, too.
    const env = { BASE_URL: baseUrl, PRIVATE_BASE_URL: privateUrl, PORT: '8080' }
    service = await openTestService({
      env: { ...env, AUDIT_LOG_ORIGIN: origin, RATE_LIMIT: 'off' },
    })
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
    await issueCard(service)
    await enter()
    await page.waitForSelector('#growth tr:nth-child(2)')
    assert.match(await textOf(page, '#growth tr:first-child'), /yes$/)
    await page.screenshot({ path: join(artifacts, 'audit.png'), fullPage: true })
    assert.deepEqual(complaints, [])
    // It asks again every two seconds for as long as it is open.
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
    await sql(
      service.database,
      `update audit_tile set hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1)
       where level = 0 and tile_index = 0 returning level`,
    )
    // A tile is never asked for again: another browser meets the bent one.
    const { page: other } = await chromium.visit()
    await other.goto(`${privateUrl}/audit`)
    await other.waitForSelector('#checkpoint-said.bad')
    assert.match(await textOf(other, '#checkpoint-said'), /do not have the root/)
    for (const each of [page, other]) await each.close()
  })

  const receiptOfOne = async () => {
    const { publicToken } = await issueCard(service)
    const shown = await service.call('GET', `/card-pin/${publicToken}/pin`)
    await enter()
    return (await service.call('GET', `/receipts/${shown.headers['audit-entry']}`)).text
  }
})
