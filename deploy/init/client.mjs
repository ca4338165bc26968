// A client system in twenty lines: node client.mjs, beside `npx pinfold start`.
import { readFile } from 'node:fs/promises'

const { baseUrl, clientId, clientSecret, processorPath, tokenEndpoint } = JSON.parse(
  await readFile(process.argv[2] ?? '.data/sandbox.json', 'utf8'),
)
const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
const body = new URLSearchParams({ grant_type: 'client_credentials' })
const granted = await fetch(tokenEndpoint, { method: 'POST', headers: { authorization }, body })
const { access_token: token } = await granted.json()
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
const call = async (path, method = 'GET', body) => {
  const answer = await fetch(`${baseUrl}/thr/${processorPath}${path}`, { method, headers, body })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}
const cardHolder = { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' }
const address = { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' }
const wish = { cardType: 'Virtual', cardProduct: 1001, cardHolder, address }
const card = await call('/cards', 'POST', JSON.stringify(wish))
console.log(`Card ${card.publicToken} is ${card.status}: ${card.maskedPan}, ${card.embossName}.`)
