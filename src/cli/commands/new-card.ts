import * as cli from '../command.ts'
import { readJsonFile } from '../files.ts'

const memberOptions: cli.Options = {
  product: {
    type: 'string',
    value: 'N',
    help: 'the product, from pinfold products list',
    pointer: '/cardProduct',
  },
  type: {
    type: 'string',
    value: 'TYPE',
    help: 'Virtual or Physical; by default Virtual',
    pointer: '/cardType',
  },
  'first-name': {
    type: 'string',
    value: 'TEXT',
    help: 'of the cardholder',
    pointer: '/cardHolder/firstName',
  },
  'last-name': {
    type: 'string',
    value: 'TEXT',
    help: 'of the cardholder',
    pointer: '/cardHolder/lastName',
  },
  born: {
    type: 'string',
    value: 'YYYY-MM-DD',
    help: 'date of birth',
    pointer: '/cardHolder/dateOfBirth',
  },
  address: {
    type: 'string',
    value: 'TEXT',
    help: 'first line of the address',
    pointer: '/address/addressLine1',
  },
  'post-code': {
    type: 'string',
    value: 'TEXT',
    help: 'of the address',
    pointer: '/address/postCode',
  },
  country: {
    type: 'string',
    value: 'CODE',
    help: 'ISO 3166-1 alpha-3, such as ESP',
    pointer: '/address/country',
  },
  reference: {
    type: 'string',
    value: 'TEXT',
    help: "the client's own reference",
    pointer: '/customerReference',
  },
  expiry: {
    type: 'string',
    value: 'YYYY-MM',
    help: "by default the product's validity from today",
    pointer: '/expiryDate',
  },
  'activate-now': {
    type: 'string',
    value: 'yes|no',
    help: 'yes for Virtual, no for Physical',
    pointer: '/activateNow',
  },
}

const fileOption: cli.Options = {
  file: {
    type: 'string',
    value: 'FILE',
    help: 'the body of POST /cards, as JSON',
    excludes: Object.keys(memberOptions),
  },
}

/** The options of `cards create`: the members of the card, or a file with all of them. */
export const newCardOptions: cli.Options = { ...memberOptions, ...fileOption }

const requiredOptions = [
  'product',
  'first-name',
  'last-name',
  'born',
  'address',
  'post-code',
  'country',
]

/** Reads the body of the call that creates a card. */
export async function parseNewCard(call: cli.Call): Promise<object> {
  const file = cli.findText(call, 'file')
  if (file !== undefined) return readJsonFile(file)
  cli.requireOptions(call, requiredOptions)
  return cli.given({
    cardType: cli.findText(call, 'type') ?? 'Virtual',
    cardProduct: cli.parseNumber(call, 'product'),
    cardHolder: {
      firstName: cli.findText(call, 'first-name'),
      lastName: cli.findText(call, 'last-name'),
      dateOfBirth: cli.findText(call, 'born'),
    },
    address: {
      addressLine1: cli.findText(call, 'address'),
      postCode: cli.findText(call, 'post-code'),
      country: cli.findText(call, 'country'),
    },
    customerReference: cli.findText(call, 'reference'),
    expiryDate: cli.findText(call, 'expiry'),
    activateNow: cli.parseYesNo(call, 'activate-now'),
  })
}
