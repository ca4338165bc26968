import * as authorizations from '../../../operations/authorizations/authorization.ts'
import { CardOfHistorySchema } from '../../http/card-history-members.ts'
import type { Description } from '../../http/openapi/document.ts'
import { MessageResultSchema } from '../../http/payment-members.ts'
import { PaymentSchema, PaymentWithMessagesSchema } from '../../http/payment-schemas.ts'
import { AddressSchema } from '../../http/postal-address.ts'
import { apiVersion } from '../../http/request.ts'
import type { StringFormat } from '../../http/server.ts'
import * as paymentSimulator from '../routes/payment-simulator.ts'
import * as simulator from '../routes/simulator.ts'
import * as virtualChip from '../routes/virtual-chip.ts'
import * as recorded from '../schemas/authorizations.ts'
import * as cardData from '../schemas/card-data.ts'
import * as cards from '../schemas/cards.ts'
import * as chips from '../schemas/chips.ts'
import * as controls from '../schemas/controls.ts'
import * as decisionEndpoint from '../schemas/decision-endpoint.ts'
import * as decisions from '../schemas/decisions.ts'
import { EventSchema } from '../schemas/events.ts'
import * as payments from '../schemas/payments.ts'
import * as products from '../schemas/products.ts'
import * as renewals from '../schemas/renewals.ts'
import * as webhooks from '../schemas/webhooks.ts'
import { answerExamples } from './answer-examples.ts'
import { cardLifeAnswers, cardLifeBodies } from './card-life-examples.ts'
import { bodyExamples } from './examples.ts'
import { productAnswers } from './product-examples.ts'

const description = `A card-issuing core: products, cards, PINs, PIN and CVV status with the
remaining tries.

- Every call carries an access token of the client (OAuth 2.0, client credentials).
- Bodies are JSON in UTF-8. PINs and card references are strings. Unknown members and query
  parameters are refused.
- Failures are problem documents (RFC 9457). Their \`code\` is stable: switch on it.
- \`Idempotency-Key\` on a POST or PUT makes it safe to send again.
- \`Api-Version: ${apiVersion}\` may be sent to require this version.
- \`X-Request-Id\` is returned as it was sent; without one, the service makes one.`

/** Returns the description of the public listener in its document. */
export const publicDescription = (
  baseUrl: string,
  formats: Readonly<Record<string, StringFormat>>,
): Description => ({
  listener: 'public',
  title: 'Pinfold',
  summary: 'A card-issuing core that anyone can run.',
  description,
  url: baseUrl,
  tokenUrl: `${baseUrl}/oauth/token`,
  sources: {
    ...products,
    ...cards,
    AddressSchema,
    CardOfHistorySchema,
    ...cardData,
    ...controls,
    ...authorizations,
    ...recorded,
    ...simulator,
    ...virtualChip,
    ...chips,
    ...payments,
    ...renewals,
    PaymentSchema,
    PaymentWithMessagesSchema,
    ...paymentSimulator,
    MessageResultSchema,
    ...decisionEndpoint,
    ...decisions,
    ...webhooks,
    EventSchema,
  },
  bodyExamples: { ...bodyExamples, ...cardLifeBodies },
  answerExamples: { ...answerExamples, ...productAnswers, ...cardLifeAnswers },
  formats,
  tags: [
    { name: 'Products', description: 'The card products that cards are created from.' },
    { name: 'Cards', description: 'Creating and reading cards, and changing their status.' },
    {
      name: 'Life of a card',
      description: 'Renewing and replacing cards, and giving virtual cards plastic.',
    },
    { name: 'PIN', description: 'Setting, reading and unblocking the PIN.' },
    { name: 'CVV', description: 'Reading and changing the CVV status.' },
    { name: 'Chips', description: 'The chips of a card, and commands to them.' },
    { name: 'Controls', description: 'What a card may be used for, and how much it may spend.' },
    { name: 'Authorizations', description: 'Why cards were approved and declined.' },
    { name: 'Payments', description: 'What cards hold, and what has moved.' },
    { name: 'Decisions', description: 'Deciding authorizations yourself, in real time.' },
    { name: 'Events', description: 'Events of the cards.' },
    { name: 'Webhooks', description: 'Delivery of events to your endpoints.' },
    {
      name: 'Card data',
      description: 'PAN, CVV2, expiry and PIN, encrypted for the device.',
    },
    {
      name: 'Audit log',
      description: 'Receipts that verify without this service.',
    },
    {
      name: 'Simulator',
      description: 'Messages as a card network would send them, in the sandbox.',
    },
  ],
})
