/** The commands of the API reference, pasted into a shell. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { writeSandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { openServedService, type ServedService } from '../support/served-service.ts'

let service: ServedService
before(async () => {
  service = await openServedService()
  await writeSandboxFile(service.dataDir, service.sandbox)
})

/** The first block of code in a section of a page, as a reader copies it. */
async function readCommand(address: string, id: string): Promise<string> {
  const page = await (await fetch(`${service.sandbox.baseUrl}${address}`)).text()
  const [, command = ''] =
    new RegExp(`id="${id}".*?<pre tabindex="0"><code>(.*?)</code>`, 's').exec(page) ?? []
  assert.notEqual(command, '', `${address}#${id}`)
  return command
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replaceAll('.data/', `${service.dataDir}/`)
}

async function paste(lines: readonly string[]): Promise<string> {
  const words = ['--norc', '-euo', 'pipefail', '-c', lines.join('\n')]
  const { stderr, stdout } = await promisify(execFile)('bash', words)
  assert.equal(stderr, '')
  return stdout
}

test('a token and the life of a PIN can be pasted from the public reference', async () => {
  const answered = await paste([
    await readCommand('/docs/api/public', 'token'),
    await readCommand('/docs/api/public/products', 'listProducts'),
    `PUBLIC_TOKEN=$(${await readCommand('/docs/api/public/cards', 'createCard')} | field publicToken)`,
    await readCommand('/docs/api/public/pin', 'setPin'),
    await readCommand('/docs/api/public/pin', 'getCurrentPin'),
    await readCommand('/docs/api/public/cards', 'changeCardStatus'),
    await readCommand('/docs/api/public/cards', 'getCardStatus'),
  ])
  assert.match(answered, /"productId":1001/)
  assert.match(answered, /\{"pin":"[0-9]{4}"\}/)
  assert.match(answered, /"cardStatusCode":"[0-9]{2}"/)
  assert.doesNotMatch(answered, /"code":/)
})

test('an administrator’s token and calls can be pasted from the private reference', async () => {
  const answered = await paste([
    await readCommand('/docs/api/private', 'token'),
    await readCommand('/docs/api/private/clients', 'listClients'),
    await readCommand('/docs/api/private/sandbox', 'readClock'),
    await readCommand('/docs/api/private/health', 'live'),
  ])
  assert.match(answered, /"clientId":"demo-client"/)
  assert.match(answered, /\{"status":"alive"\}/)
  assert.doesNotMatch(answered, /"code":/)
})
