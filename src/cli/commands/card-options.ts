import * as cli from '../command.ts'

/** The options of a change of a card's record. */
export const cardChangeOptions: cli.Options = {
  file: {
    type: 'string',
    value: 'FILE',
    help: 'the body of PATCH /cards/{publicToken}, as JSON',
  },
  metadata: {
    type: 'string',
    value: 'KEY=VALUE',
    help: 'sets this text under this key; without a value, removes it',
    pointer: '/metadata',
  },
}

/** Returns the change of one key of the metadata, if any. @throws UsageError without a `=`. */
export function parseMetadataChange(call: cli.Call): Record<string, string | null> | undefined {
  const [key, value] = parseMetadata(call, /^([^=]+)=(.*)$/s)
  return key === undefined ? undefined : { [key]: value || null }
}

/** Returns the key and the value of the metadata; none without the option. */
function parseMetadata(call: cli.Call, form: RegExp): readonly string[] {
  const text = cli.findText(call, 'metadata')
  if (text === undefined) return []
  const [, ...parts] = form.exec(text) ?? []
  if (parts.length > 0) return parts
  throw new cli.UsageError('--metadata must be a key and a value: KEY=VALUE.')
}

/** The filters of a list of cards. */
export const cardFilterOptions: cli.Options = {
  reference: {
    type: 'string',
    value: 'TEXT',
    help: 'only cards with this customerReference',
    pointer: '/customerReference',
  },
  status: {
    type: 'string',
    value: 'CODE',
    help: 'only cards with this cardStatusCode',
    pointer: '/cardStatusCode',
  },
  'expiring-before': {
    type: 'string',
    value: 'YYYY-MM-DD',
    help: 'only cards in use whose last plastic expires before this day',
    pointer: '/expiringBefore',
  },
  product: {
    type: 'string',
    value: 'N',
    help: 'only cards of this product',
    pointer: '/cardProduct',
  },
  type: {
    type: 'string',
    value: 'TYPE',
    help: 'only Virtual or Physical cards',
    pointer: '/cardType',
  },
  metadata: {
    type: 'string',
    value: 'KEY=VALUE',
    help: 'only cards with this text under this key',
    pointer: '/metadata',
  },
}

/** Returns the parameters of the filters. @throws UsageError for metadata without a `=`. */
export const parseCardFilter = (call: cli.Call): Record<string, string> =>
  cli.given({
    customerReference: cli.findText(call, 'reference'),
    cardStatusCode: cli.findText(call, 'status'),
    expiringBefore: cli.findText(call, 'expiring-before'),
    cardProduct: cli.findText(call, 'product'),
    cardType: cli.findText(call, 'type'),
    ...parseMetadataFilter(call),
  }) as Record<string, string>

function parseMetadataFilter(call: cli.Call): Record<string, string> {
  const [key, value = ''] = parseMetadata(call, /^([^=]+)=(.+)$/s)
  return key === undefined ? {} : { [`metadata[${key}]`]: value }
}
