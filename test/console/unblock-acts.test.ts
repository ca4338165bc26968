/** A card offers an unblock only when there are tries to restore. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { ask, cvvTry, issueCard, otherDigits, pinTry } from '../support/network.ts'
import { openTestService } from '../support/service.ts'

test('the page of a card offers to unblock what has used tries, and nothing else', async () => {
  const [, port] = await freePorts()
  const service = await openTestService({
    env: { PRIVATE_PORT: String(port), RATE_LIMIT: 'off' },
  })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  const support = openBrowser()
  const people = service.sandbox?.people ?? []
  await support.visit(people.find(({ role }) => role === 'support')?.signInUrl ?? '')
  const card = await issueCard(service)
  const address = `http://127.0.0.1:${port}/console/cards/${card.publicToken}`
  const listOffers = async () => {
    const { text } = await support.visit(address)
    return [...text.matchAll(/<summary>(Unblock \w+)</g)].map(([, name]) => name)
  }
  assert.deepEqual(await listOffers(), [])
  await ask(service, pinTry(service, card, otherDigits(card.pin)))
  assert.deepEqual(await listOffers(), ['Unblock PIN'])
  await ask(service, cvvTry(card, otherDigits(card.cvv2)))
  assert.deepEqual(await listOffers(), ['Unblock PIN', 'Unblock CVV'])
})
