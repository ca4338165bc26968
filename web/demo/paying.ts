import { plainWords } from '../pinfold-card/plain-words.ts'
import { byId, onSubmit, say, takeValue } from './elements.ts'
import { type Purchase, pay } from './relay-calls.ts'

/** Lets the forms of the shop pay with whatever card there is. */
export function startShop(currentToken: () => string, afterChange: () => Promise<void>): void {
  const said = byId('shop-said', HTMLElement)
  const purchase = async (shown: { pin: string } | { cvv: string }) => {
    try {
      const answer = await pay(currentToken(), shown)
      say(said, wordsFor(answer), answer.approved ? 'good' : 'bad')
    } catch (error) {
      say(said, plainWords(error), 'bad')
    }
    await afterChange()
  }
  onSubmit('pay-pin-form', () => purchase({ pin: takeValue(byId('pay-pin', HTMLInputElement)) }))
  onSubmit('pay-cvv-form', () => purchase({ cvv: takeValue(byId('pay-cvv', HTMLInputElement)) }))
}

/** By the response code of the network (ISO 8583, field 39). */
function wordsFor({ approved, cvv, pin, responseCode }: Purchase): string {
  if (approved) return 'Approved (00).'
  if (responseCode === '55') return `Refused (55): wrong PIN. ${triesLeft(pin?.remainingTries)}`
  if (responseCode === '75') return 'Refused (75): the PIN is blocked. It was not even compared.'
  if (responseCode !== 'N7') return `Refused (${responseCode}).`
  return `Refused (N7): wrong or blocked CVV. ${triesLeft(cvv?.remainingTries)}`
}

const triesLeft = (count = 0): string =>
  count === 0 ? 'That was the last try.' : count === 1 ? 'One try left.' : `${count} tries left.`
