import { AuthorizationSchema } from '../../operations/authorizations/authorization.ts'
import { CardOfHistorySchema } from '../http/card-history-members.ts'
import type { Description } from '../http/openapi/document.ts'
import { MessageResultSchema } from '../http/payment-members.ts'
import { PaymentSchema, PaymentWithMessagesSchema } from '../http/payment-schemas.ts'
import { AddressSchema } from '../http/postal-address.ts'
import { apiVersion } from '../http/request.ts'
import type { StringFormat } from '../http/server.ts'
import { bodyExamples } from './body-examples.ts'
import { ClearingResultsSchema } from './routes/payments.ts'
import * as allAuthorizations from './schemas/all-authorizations.ts'
import * as approvals from './schemas/approvals.ts'
import * as erasures from './schemas/audit-erasures.ts'
import * as auditLog from './schemas/audit-log.ts'
import * as bureau from './schemas/bureau.ts'
import * as cardAuthorizations from './schemas/card-authorizations.ts'
import * as cardLifeActs from './schemas/card-life-acts.ts'
import * as cards from './schemas/cards.ts'
import * as clients from './schemas/clients.ts'
import * as componentEntries from './schemas/component-entries.ts'
import * as controls from './schemas/controls.ts'
import * as disclosures from './schemas/disclosures.ts'
import * as figures from './schemas/figures.ts'
import * as keys from './schemas/keys.ts'
import * as limits from './schemas/limits.ts'
import * as links from './schemas/links.ts'
import * as people from './schemas/people.ts'
import * as products from './schemas/products.ts'
import * as reasons from './schemas/reasons.ts'
import * as webhooks from './schemas/webhooks.ts'

const description = `The interface for card networks, operators and monitoring. Client systems
cannot reach this listener.

- A call carries an access token of a client (OAuth 2.0, client credentials), or that of a person
  who is signed in with the operators' issuer. Where an operation names several scopes, any one of
  them will do.
- Bodies are JSON in UTF-8. Unknown members and query parameters are refused.
- Failures are problem documents (RFC 9457). Their \`code\` is stable: switch on it.
- \`Idempotency-Key\` on a POST, PUT or PATCH makes it safe to send again.
- What is done is on record as the act of who called.
- \`Api-Version: ${apiVersion}\` may be sent to require this version.`

const tags: Readonly<Record<string, string>> = {
  Authorizations: 'Authorization requests of card networks, and those of all cards.',
  Payments: 'Reversals, advices and clearings of card networks, and what they changed.',
  Cards: 'Search, history, and acts of operators on cards of every client.',
  Bureau: 'Plastics that are made and sent.',
  Figures: 'Figures for charts.',
  Webhooks: 'Webhooks of every client: deliveries and retries.',
  Disclosures: 'Disclosures, with their proofs.',
  Limits: 'Limits, their sources and their remaining uses.',
  Products: 'Products and their grants.',
  Clients: 'Client systems and their credentials.',
  Zones: 'Card networks, as clients that send authorization requests.',
  Links: 'ISO 8583 connections of card networks.',
  Keys: 'The life cycle of keys.',
  Approvals: 'Requests of one person that another person approves.',
  Acts: 'Acts of operators.',
  'Audit log': 'The audit log, which others can verify.',
  People: 'People who sign in to the console.',
  Health: 'Health, without a token.',
  Sandbox: 'Operations of the sandbox only.',
}

/** The addresses of the two listeners. */
interface Addresses {
  readonly baseUrl: string
  readonly privateUrl: string
}

/** Returns the description of the private listener in its document. */
export const privateDescription = (
  { baseUrl, privateUrl }: Addresses,
  formats: Readonly<Record<string, StringFormat>>,
): Description => ({
  listener: 'private',
  title: 'Pinfold, private listener',
  summary: 'The interface for card networks and operators.',
  description,
  url: privateUrl,
  tokenUrl: `${baseUrl}/oauth/token`,
  sources: {
    ...erasures,
    ...allAuthorizations,
    ...approvals,
    ...auditLog,
    ...bureau,
    ...cardAuthorizations,
    ...cards,
    ...cardLifeActs,
    ...clients,
    ...componentEntries,
    ...disclosures,
    ...controls,
    ...figures,
    ...keys,
    ...limits,
    ...links,
    ...people,
    ...products,
    ...reasons,
    ...webhooks,
    AuthorizationSchema,
    MessageResultSchema,
    ClearingResultsSchema,
    CardOfHistorySchema,
    AddressSchema,
    PaymentSchema,
    PaymentWithMessagesSchema,
  },
  bodyExamples,
  answerExamples: {},
  formats,
  tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
})
