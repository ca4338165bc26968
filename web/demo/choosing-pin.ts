import { type ServiceKeys, sealPin } from '../../sdk/device/device.ts'
import { plainWords } from '../pinfold-card/plain-words.ts'
import { byId, onSubmit, say, takeValue } from './elements.ts'
import { setPin } from './relay-calls.ts'

/** Lets the cardholder choose a PIN: it is sealed before anything is sent. */
export function startChoosingPin(
  currentToken: () => string,
  fetchKeys: () => Promise<ServiceKeys>,
  afterChange: () => Promise<void>,
): void {
  const said = byId('pin-said', HTMLElement)
  const first = byId('new-pin', HTMLInputElement)
  const second = byId('new-pin-again', HTMLInputElement)
  onSubmit('pin-form', async () => {
    const pin = takeValue(first)
    if (takeValue(second) !== pin) {
      say(said, 'The two are not the same. Type both again.', 'bad')
      first.focus()
      return
    }
    try {
      const sealed = await sealPin(await fetchKeys(), currentToken(), pin)
      await setPin(currentToken(), sealed)
      say(said, 'Your new PIN is set.', 'good')
    } catch (error) {
      say(said, plainWords(error), 'bad')
    }
    await afterChange()
  })
}

/** Holds the fields for PINs to the length that the card's product asks for. */
export function askForLength(digits: number): void {
  for (const id of ['new-pin', 'new-pin-again', 'pay-pin']) {
    const input = byId(id, HTMLInputElement)
    input.minLength = digits
    input.maxLength = digits
    input.pattern = `[0-9]{${digits}}`
    input.title = `${digits} digits`
    input.value = ''
  }
}
