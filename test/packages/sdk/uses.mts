/** What a user of the packed SDK writes. Compiled, never run: every line is a guarantee of the types. */
import {
  type Card,
  type CardStatusCode,
  createPinfold,
  type EventRecord,
  type PinStatus,
  Problem,
  type ProblemCode,
  WeakPin,
} from '@pinfold/sdk'
import { createAdministration, type OperationResult } from '@pinfold/sdk/admin'
import { parseVerifierKeys, verifyFolder } from '@pinfold/sdk/audit'
import { type CardData, fetchKeys, requestCardData, sealPin } from '@pinfold/sdk/device'
import { type PinfoldMessage, verifyWebhook } from '@pinfold/sdk/webhooks'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_Claim extends true>(): void => undefined

const baseUrl = 'https://cards.example'
const pinfold = createPinfold({ baseUrl, clientId: 'a', clientSecret: 'b' })
createPinfold({ baseUrl, clientId: 'a', privateKey: { kty: 'EC', alg: 'ES256' } })
// @ts-expect-error without a client nobody is called
createPinfold({ baseUrl })
// @ts-expect-error a key must say what it signs with
createPinfold({ baseUrl, clientId: 'a', privateKey: { kty: 'EC' } })

const cardHolder = { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' }
const address = { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' }
const asked = { cardType: 'Virtual', cardProduct: 1001, cardHolder, address } as const
const created = await pinfold.cards.create(asked)
holds<Same<typeof created.publicToken, string>>()
holds<Same<typeof created.customerReference, string | undefined>>()
holds<Same<typeof created.cardType, 'Physical' | 'Virtual'>>()
// @ts-expect-error no such type of card
await pinfold.cards.create({ ...asked, cardType: 'Paper' })
// @ts-expect-error the holder is required
await pinfold.cards.create({ cardType: 'Virtual', cardProduct: 1001, address })
// @ts-expect-error unknown members are refused by the service, too
await pinfold.cards.create({ ...asked, nickname: 'A' })

// A card that is listed has nothing to disclose.
for await (const card of pinfold.cards.list({ cardStatusCode: '00' })) {
  holds<Same<typeof card, Card>>()
  // @ts-expect-error no number
  card.pan
  // @ts-expect-error no PIN
  card.pin
}
// @ts-expect-error no such status
pinfold.cards.list({ cardStatusCode: '99' })

const status = await pinfold.pins.unblock(created.publicToken)
holds<Same<typeof status, PinStatus>>()
holds<Same<typeof status.status, 'Blocked' | 'Unblocked'>>()
const moved = await pinfold.cards.changeStatus(created.publicToken, { cardStatusCode: '62' })
holds<Same<typeof moved.cardStatusCode, CardStatusCode>>()
// @ts-expect-error expired begins by itself
await pinfold.cards.changeStatus(created.publicToken, { cardStatusCode: '54' })

await pinfold.pins.set(created.publicToken, { pin: '4821', updatedBy: 'Bo' })
// @ts-expect-error a PIN is text: leading zeros live
await pinfold.pins.set(created.publicToken, { pin: 4821 })
// @ts-expect-error one of the two
await pinfold.pins.set(created.publicToken, { pin: '4821', encryptedPin: 'x' })
// @ts-expect-error one of the two
await pinfold.pins.set(created.publicToken, {})
const { pin } = await pinfold.pins.reveal(created.publicToken)
holds<Same<typeof pin, string>>()
// @ts-expect-error what discloses takes no idempotency key
await pinfold.pins.reveal(created.publicToken, { idempotencyKey: 'a' })

// What the device makes goes through as it is.
const keys = await fetchKeys(baseUrl)
const request = await requestCardData(keys, created.publicToken)
const opened = await request.open(await pinfold.cardData.relay(created.publicToken, request.body))
holds<Same<typeof opened, CardData>>()
await pinfold.pins.set(created.publicToken, await sealPin(keys, created.publicToken, '4821'))

for await (const event of pinfold.events.follow({ types: ['pin.blocked'] })) {
  holds<Same<typeof event, EventRecord>>()
  if (event.type === 'pin.blocked') holds<Same<typeof event.data.blockedBy, 'tries' | 'client'>>()
}
// @ts-expect-error no such type
pinfold.events.list({ types: ['pin.gone'] })

const message = await verifyWebhook(new Headers(), '{}', 'whsec_')
holds<Same<typeof message, PinfoldMessage>>()

try {
  await pinfold.products.list().page()
} catch (error) {
  if (error instanceof WeakPin) holds<Same<typeof error.code, 'weak_pin'>>()
  if (error instanceof Problem) holds<Same<typeof error.code, string>>()
}
const code: ProblemCode = 'card_closed'
// @ts-expect-error no such code
const none: ProblemCode = 'card_open'

export { code, none }

const auditKeys = await parseVerifierKeys('cards.example/audit+00000000+AA==')
const receipt = await pinfold.receipt('01900000-0000-7000-8000-000000000000', auditKeys)
holds<Same<typeof receipt.file, string>>()
// @ts-expect-error without keys nothing is proven
await pinfold.receipt('01900000-0000-7000-8000-000000000000')
const { findings } = await verifyFolder(async () => null, { keys: auditKeys })
holds<Same<(typeof findings)[number]['where'], string>>()

const privateUrl = 'https://cards.internal'
const admin = createAdministration({ baseUrl, privateUrl, clientId: 'a', clientSecret: 'b' })
for await (const link of admin.listLinks({ query: { limit: 10 } })) {
  holds<Same<typeof link.direction, 'listen' | 'dial'>>()
  holds<Same<typeof link.fault, string | null>>()
}
const changed = await admin.changeProduct({ productId: 1001, body: { pinTryLimit: 4 } })
holds<Same<typeof changed, OperationResult<'changeProduct'>>>()
const entry = { algorithm: 'TDES', componentCount: 2, keyCheckValue: '08D7B4' } as const
const target = { family: 'zone-master', key: 'zmk' } as const
await admin.openComponentEntry({ body: { ...target, ...entry, lengthBytes: 16 } })
// @ts-expect-error a number of bytes is a number
await admin.openComponentEntry({ body: { ...target, ...entry, lengthBytes: '16' } })
// @ts-expect-error the link must be named
await admin.getLink()
await pinfold.pins.unblock(created.publicToken, undefined, {
  onAnswer: ({ requestId, status: code }) => {
    holds<Same<typeof requestId, string | undefined>>()
    holds<Same<typeof code, number>>()
  },
})
