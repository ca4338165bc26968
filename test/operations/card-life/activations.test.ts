import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { changeCardStatus } from '../../../src/operations/cards/status.ts'
import { product } from '../../support/builders.ts'
import { databaseEngines } from '../../support/engines.ts'
import { type IssuedCard, issueCard } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'

/** A PIN that is set while the successor of its card is activated. */

const caller = { clientId: 'demo-client', requestId: 'test' }
const productId = 2250
/** PINs that the rules for weak ones accept. */
const pins = ['7193', '0739', '6284', '8406'] as const

/** A card that was replaced, its successor, and the last four digits of the successor's number. */
type Replaced = { card: IssuedCard; successor: string; lastFour: string }

/** The calls of the HSM between the read of the PIN and the commit of the activation. */
const moments = ['translatePin', 'sealRecord'] as const
type Moment = (typeof moments)[number]

for (const { name, open, skip } of databaseEngines) {
  suite(`activations amid changes of the PIN, on ${name}`, { skip }, () => {
    let service: TestService
    before(async () => {
      const env = { RATE_LIMIT: 'off' }
      service = await openTestService({ database: await open(), env })
      await product(service.database, { productId, bin: '40000225' })
    })

    const replaceCard = async (): Promise<Replaced> => {
      const members = { cardProduct: productId, cardType: 'Physical', activateNow: true }
      const card = await issueCard(service, members)
      const { json, status } = await service.call('POST', `/cards/${card.publicToken}/replace`)
      assert.equal(status, 200)
      return { card, successor: json.publicToken, lastFour: json.maskedPan.slice(-4) }
    }
    const setPin = async (publicToken: string, pin: string): Promise<number> =>
      (await service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })).status
    const pinOf = async (publicToken: string): Promise<string> =>
      (await service.call('GET', `/card-pin/${publicToken}/pin`)).json.pin
    /** PINs that the card does not have, and that the number of neither card makes weak. */
    const otherPins = ({ card, lastFour }: Replaced): string[] =>
      pins.filter((pin) => pin !== card.pin && !card.pan.endsWith(pin) && pin !== lastFour)

    /** Activates a successor, and does something once at a moment of the activation. */
    async function activateAmid(
      successor: string,
      moment: Moment,
      disturb: () => Promise<unknown>,
    ): Promise<void> {
      const { hsm } = service.issuing
      let isDisturbed = false
      const disturbOnce = async (): Promise<void> => {
        if (isDisturbed) return
        isDisturbed = true
        await disturb()
      }
      const amid: Pick<typeof hsm, Moment> = {
        translatePin: async (...given) => {
          const translated = await hsm.translatePin(...given)
          if (moment === 'translatePin') await disturbOnce()
          return translated
        },
        sealRecord: async (...given) => {
          if (moment === 'sealRecord') await disturbOnce()
          return hsm.sealRecord(...given)
        },
      }
      const publicToken = (await service.call('GET', `/cards/${successor}`)).json.publicToken
      const change = { publicToken, to: '00', note: { description: 'It arrived.' } } as const
      const context = { ...service.issuing, hsm: { ...hsm, ...amid } }
      await changeCardStatus(context, caller, change, null)
      assert.ok(isDisturbed)
    }

    for (const moment of moments) {
      test(`the last PIN that was set on the replaced card is that of its successor (${moment})`, async () => {
        const replaced = await replaceCard()
        const { card, successor } = replaced
        const [first = '', last = ''] = otherPins(replaced)
        assert.equal(await setPin(card.publicToken, first), 204)
        await activateAmid(successor, moment, async () => {
          assert.equal(await setPin(card.publicToken, last), 204)
        })
        assert.equal(await pinOf(successor), last)
      })

      test(`a PIN that is set on the successor itself is never replaced (${moment})`, async () => {
        const replaced = await replaceCard()
        const { card, successor } = replaced
        const [first = '', own = ''] = otherPins(replaced)
        assert.equal(await setPin(card.publicToken, first), 204)
        await activateAmid(successor, moment, async () => {
          assert.equal(await setPin(successor, own), 204)
        })
        assert.equal(await pinOf(successor), own)
      })
    }

    test('a first change of the PIN amid the activation is carried, too', async () => {
      const replaced = await replaceCard()
      const { card, successor } = replaced
      const [last = ''] = otherPins(replaced)
      await activateAmid(successor, 'sealRecord', async () => {
        assert.equal(await setPin(card.publicToken, last), 204)
      })
      assert.equal(await pinOf(successor), last)
    })

    test('of a PIN and an activation at once, an accepted PIN is that of the successor', async () => {
      for (let round = 0; round < 12; round += 1) {
        const replaced = await replaceCard()
        const { card, successor } = replaced
        const [pin = ''] = otherPins(replaced)
        const body = { cardStatusCode: '00' }
        const [set, activated] = await Promise.all([
          setPin(card.publicToken, pin),
          service.call('PUT', `/cards/${successor}/status`, { body }),
        ])
        assert.equal(activated.status, 204, activated.text)
        assert.ok(set === 204 || set === 409, `${set}`)
        assert.equal(await pinOf(successor), set === 204 ? pin : card.pin)
      }
    })
  })
}
