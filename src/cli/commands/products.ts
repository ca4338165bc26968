import { chipProfileNames } from '../../domain/chip-profile.ts'
import { toMembers } from '../../domain/members.ts'
import type { Product } from '../../domain/product.ts'
import * as cli from '../command.ts'
import { asAdministrator } from '../connection/connection.ts'
import { readJsonFile } from '../files.ts'
import { sheet, table } from '../output.ts'

/** Options that set members of a product. */
const memberOptions: cli.Options = {
  name: { type: 'string', value: 'TEXT', help: 'the name for display', pointer: '/productName' },
  scheme: {
    type: 'string',
    value: 'NAME',
    help: 'Visa, Mastercard, … or a scheme of your own',
    pointer: '/schemeName',
  },
  bin: {
    type: 'string',
    value: 'DIGITS',
    help: 'the first 6 or 8 digits of its card numbers',
    pointer: '/bin',
  },
  currency: {
    type: 'string',
    value: 'CODE',
    help: 'ISO 4217, such as EUR',
    pointer: '/currencyCode',
  },
  types: {
    type: 'string',
    value: 'LIST',
    help: 'Physical, Virtual or both, separated by a comma',
    pointer: '/cardTypes',
  },
  'validity-months': {
    type: 'string',
    value: 'N',
    help: '1 to 240; by default 48',
    pointer: '/validityMonths',
  },
  'pin-length': {
    type: 'string',
    value: 'N',
    help: '4 to 12; by default 4',
    pointer: '/pinLength',
  },
  'pin-revealable': {
    type: 'string',
    value: 'yes|no',
    help: 'no: only a check value is stored',
    pointer: '/pinRevealable',
  },
  'refuse-weak-pins': {
    type: 'string',
    value: 'yes|no',
    help: 'by default yes',
    pointer: '/refuseWeakPins',
  },
  'pin-try-limit': {
    type: 'string',
    value: 'N',
    help: '1 to 15; by default 3',
    pointer: '/pinTryLimit',
  },
  'cvv-try-limit': {
    type: 'string',
    value: 'N',
    help: '1 to 15; by default 3',
    pointer: '/cvvTryLimit',
  },
  'chip-keys': {
    type: 'string',
    value: 'LIST|none',
    help: 'versions of the chip keys by derivation key index, such as C1=1,C2=2',
    pointer: '/chip/keyVersions',
  },
  'renewal-type': {
    type: 'string',
    value: 'TYPE',
    help: 'Manual or Automatic; by default Manual',
    pointer: '/renewalType',
  },
  'renewal-earliest-days': {
    type: 'string',
    value: 'N',
    help: 'a client orders a renewal at most N days before the expiry; by default 90',
    pointer: '/renewalEarliestDays',
  },
  'renewal-lead-days': {
    type: 'string',
    value: 'N',
    help: 'an automatic renewal is ordered N days before the expiry; by default 45',
    pointer: '/renewalLeadDays',
  },
  'renewal-grace-months': {
    type: 'string',
    value: 'N',
    help: 'an expired card can be renewed for N months; by default 3',
    pointer: '/renewalGraceMonths',
  },
  chip: {
    type: 'string',
    value: 'PROFILE|none',
    help: `how its chips make cryptograms: ${chipProfileNames.join(', ')}`,
    pointer: '/chip',
  },
  file: { type: 'string', value: 'FILE', help: 'members as JSON, as GET /products answers them' },
}

export const productCommands: readonly cli.Command[] = [
  {
    words: 'products list',
    summary: 'lists every card product, active or not',
    options: cli.limitOption,
    example: 'pinfold products list',
    run: (call) =>
      asAdministrator(call, async ({ readAll }) => {
        const products = await readAll<Product>('/products', cli.parseLimit(call))
        return {
          json: products,
          text: table(
            ['PRODUCT', 'NAME', 'SCHEME', 'BIN', 'CURRENCY', 'TYPES', 'PIN', 'TRIES', 'ACTIVE'],
            products.map((product) => [
              product.productId,
              product.productName,
              product.schemeName,
              product.bin,
              product.currencyCode,
              product.cardTypes,
              `${product.pinLength} digits${product.pinRevealable ? '' : ', sealed'}`,
              `${product.pinTryLimit}/${product.cvvTryLimit}`,
              product.active,
            ]),
          ),
        }
      }),
  },
  {
    words: 'products show',
    names: ['PRODUCT'],
    summary: 'one product',
    example: 'pinfold products show 1001',
    run: (call) => change(call, 'GET'),
  },
  {
    words: 'products create',
    names: ['PRODUCT'],
    namePointers: { '/productId': 'PRODUCT' },
    summary: 'adds a product, under a number of your choice',
    description: 'All faults are reported at once. In that case nothing is created.',
    options: memberOptions,
    example:
      "pinfold products create 3001 --name 'House Debit' --scheme Visa --bin 45000012 " +
      '--currency EUR --types Virtual',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const body = { ...(await parseMembers(call)), productId: parseProductId(call) }
        const product = await ask<Product>('POST', '/products', body)
        return { json: product, text: sheet(product) }
      }),
  },
  {
    words: 'products change',
    names: ['PRODUCT'],
    summary: 'changes the given members of a product',
    description:
      'After the first card, BIN, scheme, currency, PIN length and the profile of the chip ' +
      'cannot\nchange.',
    options: memberOptions,
    example: 'pinfold products change 3001 --pin-try-limit 5',
    run: async (call) => change(call, 'PATCH', await parseMembers(call)),
  },
  {
    words: 'products retire',
    names: ['PRODUCT'],
    summary: 'stops new cards of a product; its existing cards stay valid',
    example: 'pinfold products retire 3001',
    run: (call) => change(call, 'PATCH', { active: false }),
  },
  {
    words: 'products resume',
    names: ['PRODUCT'],
    summary: 'allows new cards of a product again',
    example: 'pinfold products resume 3001',
    run: (call) => change(call, 'PATCH', { active: true }),
  },
  ...(['grant', 'revoke'] as const).map(
    (word): cli.Command => ({
      words: `products ${word}`,
      names: ['PRODUCT', 'CLIENT'],
      summary:
        word === 'grant'
          ? 'lets a client issue cards of a product'
          : 'stops a client from issuing cards of a product',
      example: `pinfold products ${word} 3001 acme`,
      run: (call) =>
        asAdministrator(call, async ({ ask }) => {
          const productId = parseProductId(call)
          const clientId = call.names[1] ?? ''
          const path = `/clients/${encodeURIComponent(clientId)}/products/${productId}`
          await ask(word === 'grant' ? 'PUT' : 'DELETE', path)
          const isGranted = word === 'grant'
          const done = isGranted ? 'granted to' : 'revoked from'
          const text = `Product ${productId} is ${done} ${clientId}.`
          return { json: { clientId, productId, isGranted }, text }
        }),
    }),
  ),
]

const change = (call: cli.Call, method: string, body?: object): Promise<cli.Outcome> =>
  asAdministrator(call, async ({ ask }) => {
    const product = await ask<Product>(method, `/products/${parseProductId(call)}`, body)
    return { json: product, text: sheet(product) }
  })

export function parseProductId({ names: [name = ''] }: cli.Call): number {
  if (/^[0-9]{1,12}$/.test(name)) return Number(name)
  throw new cli.UsageError('PRODUCT must be the number of a product.')
}

async function parseMembers(call: cli.Call): Promise<Record<string, unknown>> {
  const file = cli.findText(call, 'file')
  const members = file === undefined ? {} : await readJsonFile(file)
  return {
    ...members,
    ...cli.given({
      productName: cli.findText(call, 'name'),
      schemeName: cli.findText(call, 'scheme'),
      bin: cli.findText(call, 'bin'),
      currencyCode: cli.findText(call, 'currency'),
      cardTypes: cli.parseList(call, 'types'),
      validityMonths: cli.parseNumber(call, 'validity-months'),
      pinLength: cli.parseNumber(call, 'pin-length'),
      pinRevealable: cli.parseYesNo(call, 'pin-revealable'),
      refuseWeakPins: cli.parseYesNo(call, 'refuse-weak-pins'),
      pinTryLimit: cli.parseNumber(call, 'pin-try-limit'),
      cvvTryLimit: cli.parseNumber(call, 'cvv-try-limit'),
      renewalType: cli.findText(call, 'renewal-type'),
      renewalEarliestDays: cli.parseNumber(call, 'renewal-earliest-days'),
      renewalLeadDays: cli.parseNumber(call, 'renewal-lead-days'),
      renewalGraceMonths: cli.parseNumber(call, 'renewal-grace-months'),
      chip: parseChip(call, toMembers(members).chip),
    }),
  }
}

/** Parses the options of a chip; other settings of it come from the file. */
function parseChip(call: cli.Call, ofFile: unknown): Record<string, unknown> | null | undefined {
  const profile = cli.findText(call, 'chip')
  const keyVersions = parseKeyVersions(call)
  if (profile === undefined && keyVersions === undefined) return undefined
  if (profile !== 'none') return { ...toMembers(ofFile), ...cli.given({ profile, keyVersions }) }
  if (keyVersions === undefined) return null
  throw new cli.UsageError('--chip-keys has no effect without a chip.')
}

function parseKeyVersions(call: cli.Call): Record<string, number> | undefined {
  if (cli.findText(call, 'chip-keys') === 'none') return {}
  const listed = cli.parseList(call, 'chip-keys')?.map((each) => {
    const [, index, version] = /^([0-9A-F]{2})=([1-9][0-9]{0,4})$/i.exec(each) ?? []
    if (index !== undefined) return [index.toUpperCase(), Number(version)] as const
    throw new cli.UsageError('--chip-keys must list entries such as C1=1, separated by commas.')
  })
  if (!listed) return undefined
  const keyVersions = Object.fromEntries(listed)
  if (Object.keys(keyVersions).length === listed.length) return keyVersions
  throw new cli.UsageError('--chip-keys must list each derivation key index once.')
}
