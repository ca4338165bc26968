import { formatMoney } from '../../domain/money.ts'
import * as cli from '../command.ts'
import { asAdministrator, asClient } from '../connection/connection.ts'
import type { ServiceConnection } from '../connection/requests.ts'
import { readJsonFile } from '../files.ts'
import { line } from '../output.ts'
import { findPrice, priceOptions } from '../price.ts'
import { parseToken } from './cards.ts'
import { parseProductId } from './products.ts'

interface Controls {
  readonly version: number
}

interface Objection {
  readonly declineReason: string
  readonly owner: string
  readonly control: string
}

interface Explanation {
  readonly approved: boolean
  readonly objections: readonly Objection[]
  readonly shadowObjections: readonly Objection[]
}

const fileOption: cli.Options = {
  file: {
    type: 'string',
    value: 'FILE',
    help: 'the controls as JSON; without a version, the present ones are replaced',
  },
}

const transactionOptions: cli.Options = {
  mode: {
    type: 'string',
    value: 'MODE',
    help: 'chip, contactless, magstripe, atm, ecommerce or moto; chip unless given',
    pointer: '/entryMode',
  },
  ...priceOptions,
  merchant: { type: 'string', value: 'ID', help: "the merchant's id", pointer: '/merchant/id' },
  country: {
    type: 'string',
    value: 'CODE',
    help: 'its country, such as ESP',
    pointer: '/merchant/country',
  },
  mcc: {
    type: 'string',
    value: 'DIGITS',
    help: 'the merchant category code',
    pointer: '/merchant/categoryCode',
  },
}

const backTestOptions: cli.Options = {
  file: {
    type: 'string',
    value: 'FILE',
    help: 'the draft as JSON, as for a replacement; its version is ignored',
  },
  from: {
    type: 'string',
    value: 'TIME',
    help: 'the beginning of the period: 2026-10-01, or a time such as 2026-10-01T08:00:00Z',
    pointer: '/from',
  },
  to: { type: 'string', value: 'TIME', help: 'its end; now unless given', pointer: '/to' },
}

/** Spending controls of cards, as a client system, and of products, as an administrator. */
export const controlCommands: readonly cli.Command[] = [
  {
    words: 'controls show',
    names: ['CARD'],
    summary: 'prints the spending controls of a card as JSON',
    connection: cli.clientConnection,
    example: 'pinfold controls show 4820117360',
    run: (call) => {
      const path = `/cards/${parseToken(call)}/controls`
      return asClient(call, (service) => show(service, service.base + path))
    },
  },
  {
    words: 'controls set',
    names: ['CARD'],
    summary: 'replaces the spending controls of a card whole',
    options: fileOption,
    connection: cli.clientConnection,
    example: 'pinfold controls set 4820117360 --file controls.json',
    run: (call) => {
      const path = `/cards/${parseToken(call)}/controls`
      return asClient(call, (service) => replace(call, service, service.base + path))
    },
  },
  {
    words: 'controls explain',
    names: ['CARD'],
    summary: 'says which controls would decline a transaction; nothing is spent',
    options: transactionOptions,
    connection: cli.clientConnection,
    example: 'pinfold controls explain 4820117360 --amount 12.34 --mcc 7995',
    run: explain,
  },
  {
    words: 'controls back-test',
    names: ['CARD'],
    summary: 'says which recorded authorizations a draft of controls would change',
    options: backTestOptions,
    connection: cli.clientConnection,
    example: 'pinfold controls back-test 4820117360 --file draft.json --from 2026-10-01',
    run: (call) => {
      const path = `/cards/${parseToken(call)}/controls/back-test`
      return asClient(call, (service) => backTest(call, service, service.base + path))
    },
  },
]

/** Spending controls of products. */
export const productControlCommands: readonly cli.Command[] = [
  {
    words: 'products controls',
    names: ['PRODUCT'],
    summary: 'prints or replaces the spending controls of a product',
    options: fileOption,
    example: 'pinfold products controls 1001 --file controls.json',
    run: (call) => {
      const path = `/products/${parseProductId(call)}/controls`
      return asAdministrator(call, (service) =>
        cli.findText(call, 'file') === undefined
          ? show(service, path)
          : replace(call, service, path),
      )
    },
  },
  {
    words: 'products back-test',
    names: ['PRODUCT'],
    summary: 'says which recorded authorizations a draft of its controls would change',
    options: backTestOptions,
    example: 'pinfold products back-test 1001 --file draft.json --from 2026-10-01',
    run: (call) => {
      const path = `/products/${parseProductId(call)}/controls/back-test`
      return asAdministrator(call, (service) => backTest(call, service, path))
    },
  },
]

type Asking = Pick<ServiceConnection, 'ask'>

async function show({ ask }: Asking, path: string): Promise<cli.Outcome> {
  const json = await ask<Controls>('GET', path)
  return { json, text: JSON.stringify(json, null, 2) }
}

async function replace(call: cli.Call, { ask }: Asking, path: string): Promise<cli.Outcome> {
  cli.requireOptions(call, ['file'])
  const controls = await readJsonFile(cli.findText(call, 'file') ?? '')
  const { version } =
    'version' in controls ? { version: undefined } : await ask<Controls>('GET', path)
  const json = await ask<Controls>('PUT', path, { ...cli.given({ version }), ...controls })
  return { json, text: line`The controls have version ${json.version}.` }
}

function explain(call: cli.Call): Promise<cli.Outcome> {
  const path = `/cards/${parseToken(call)}/controls/explain`
  const merchant = cli.given({
    id: cli.findText(call, 'merchant'),
    country: cli.findText(call, 'country'),
    categoryCode: cli.findText(call, 'mcc'),
  })
  const body = {
    entryMode: cli.findText(call, 'mode') ?? 'chip',
    ...findPrice(call),
    ...(Object.keys(merchant).length > 0 && { merchant }),
  }
  return asClient(call, async ({ ask, base }) => {
    const json = await ask<Explanation>('POST', base + path, body)
    const { approved, objections, shadowObjections } = json
    const verdict = approved ? 'No control objects.' : 'Declined by these controls:'
    const text = [verdict, ...objections.map(describe), ...shadowObjections.map(describeShadow)]
    return { json, text: text.join('\n') }
  })
}

const describe = ({ control, declineReason, owner }: Objection): string =>
  line`  ${declineReason}: ${control} of the ${owner}`

const describeShadow = (objection: Objection): string =>
  `${describe(objection)}, a shadow control, which decides nothing`

interface Sum {
  readonly count: number
  readonly amount: number
}

interface BackTest {
  readonly currency: string
  readonly recorded: { readonly approved: Sum; readonly declined: Sum }
  readonly draft: { readonly approved: Sum; readonly declined: Sum }
  readonly newlyDeclined: Sum
  readonly newlyApproved: Sum
  readonly controls: readonly (Pick<Objection, 'owner' | 'control'> & { readonly declined: Sum })[]
  readonly changes: readonly ChangedAuthorization[]
}

interface ChangedAuthorization {
  readonly publicToken: string
  readonly authorizationId: string
  readonly requestedAt: string
  readonly amount?: number
  readonly currency?: string
  readonly responseCode: string
  readonly objection?: Objection
}

async function backTest(call: cli.Call, { ask }: Asking, path: string): Promise<cli.Outcome> {
  cli.requireOptions(call, ['file', 'from'])
  const file: { readonly version?: unknown } = await readJsonFile(cli.findText(call, 'file') ?? '')
  const { version: _, ...draft } = file
  const to = cli.findText(call, 'to')
  const json = await ask<BackTest>('POST', path, {
    ...draft,
    from: toInstant(cli.findText(call, 'from') ?? ''),
    to: to === undefined ? new Date().toISOString() : toInstant(to),
  })
  return { json, text: describeBackTest(json) }
}

/** A day begins at midnight in UTC. The service reports any other text that is no instant. */
const toInstant = (text: string): string =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text

function describeBackTest(result: BackTest): string {
  const { changes, controls, currency, draft, newlyApproved, newlyDeclined, recorded } = result
  const sum = ({ amount, count }: Sum) => line`${count} (${formatMoney({ amount, currency })})`
  return [
    `approved: ${sum(recorded.approved)} as recorded, ${sum(draft.approved)} by the draft`,
    `declined: ${sum(recorded.declined)} as recorded, ${sum(draft.declined)} by the draft`,
    `newly declined: ${sum(newlyDeclined)}; newly approved: ${sum(newlyApproved)}`,
    ...controls.map(
      ({ control, declined, owner }) => `${line`  ${control} of the ${owner}: `}${sum(declined)}`,
    ),
    ...(changes.length === 0 ? [] : ['The first authorizations that change:']),
    ...changes.map(describeChange),
  ].join('\n')
}

function describeChange(change: ChangedAuthorization): string {
  const { amount, authorizationId, currency, objection, publicToken, requestedAt } = change
  const money =
    amount === undefined || currency === undefined ? 'no amount' : formatMoney({ amount, currency })
  const verdict = objection
    ? line`${objection.declineReason}, ${objection.control} of the ${objection.owner}`
    : 'approved'
  return line`  ${requestedAt} ${publicToken} ${authorizationId} ${money}: ${verdict}`
}
