import {
  isCalendarDate,
  isInstant,
  isPastDate,
  isWithinLifetime,
  parseExpiry,
} from '../../../domain/calendar.ts'
import { isCountryCode } from '../../../domain/countries.ts'
import { isCurrencyCode } from '../../../domain/currencies.ts'
import * as freeText from '../../../domain/free-text.ts'
import { integerMax, isUuid, parseProductId } from '../../../domain/identifiers.ts'
import { findBinRange, isPan } from '../../../domain/pan.ts'
import { parseCardType } from '../../../domain/product.ts'
import { isTimeZone } from '../../../domain/spending.ts'
import type { StringFormat } from '../../http/server.ts'
import * as cardSchemas from './cards.ts'
import { CreatedWebhookSchema } from './webhooks.ts'

/**
 * The formats in the schemas of requests.
 * @param today returns the present day, `YYYY-MM-DD`.
 */
export const stringFormats = (today: () => string): Readonly<Record<string, StringFormat>> => ({
  'card-type': {
    detail: 'must be Physical or Virtual',
    validate: (text) => parseCardType(text) !== null,
  },
  'product-id': {
    detail: `must be a whole number from 1 to ${integerMax}`,
    validate: (text) => parseProductId(text) !== null,
  },
  'country-code': {
    detail: 'must be an ISO 3166-1 alpha-3 code',
    validate: isCountryCode,
  },
  'currency-code': {
    detail: 'must be an ISO 4217 code, such as EUR',
    validate: isCurrencyCode,
  },
  'time-zone': {
    detail: 'must be the name of a time zone, such as Europe/Madrid',
    validate: isTimeZone,
  },
  'birth-date': {
    detail: 'must be a date YYYY-MM-DD in the past, at most 150 years ago',
    validate: (text) => isPastDate(text, today()) && isWithinLifetime(text, today()),
  },
  'year-month': {
    detail: 'must be a month YYYY-MM',
    validate: (text) => parseExpiry(text) !== null,
  },
  // Not the validator's `uuid`, which accepts other spellings of the same id.
  id: { detail: 'must be an id from this service', validate: isUuid },
  'calendar-date': {
    detail: 'must be a date YYYY-MM-DD',
    validate: isCalendarDate,
  },
  instant: {
    detail: 'must be an instant such as 2030-12-01T00:00:00Z',
    validate: isInstant,
  },
  'network-reference': {
    // Not what looks like a card number: one in ten numbers does by chance. The operation compares
    // it with the numbers of cards.
    detail: 'must be 1 to 35 letters, digits and dashes',
    validate: (text) => /^[A-Za-z0-9-]{1,35}$/.test(text),
  },
  'message-key': {
    detail: 'must be 1 to 64 letters, digits, dots, dashes and underscores',
    validate: (text) => /^[A-Za-z0-9._-]{1,64}$/.test(text),
  },
  'person-name': {
    detail: 'must be a name: letters, and no emoji or control characters',
    validate: (text) => freeText.nameFault(text) === null,
  },
  'last-name': {
    detail: 'must be a name, or empty for a person with one name, which is the firstName',
    validate: (text) => text === '' || freeText.nameFault(text) === null,
  },
  'name-on-card': {
    detail: "must be 1 to 26 of A-Z, 0-9, space and . ' - / &, with a letter or digit",
    validate: (text) => freeText.nameOnCardFault(text) === null,
  },
  'plain-text': {
    detail: 'must not contain control characters or unpaired surrogates',
    validate: (text) => freeText.textFault(text) === null,
  },
  'check-value': {
    detail: 'must not be a card number: give six digits of it',
    // One in several thousand has enough consecutive decimal digits to look like one: those are
    // accepted.
    validate: (text) => !isPan(text) || findBinRange(text) === null,
  },
  'metadata-filter': {
    detail:
      'must be written metadata[key]=value, such as metadata[costCentre]=4711, with a key of 1 ' +
      'to 40 letters, digits, dashes and underscores',
    validate: () => false,
  },
  'metadata-key': {
    detail: 'must have keys of letters, digits, dashes and underscores, without a card number',
    validate: freeText.isMetadataKey,
  },
  'free-text': {
    detail: 'must not contain control characters, unpaired surrogates or a card number',
    validate: (text) => freeText.freeTextFault(text) === null,
  },
})

interface SchemaNode {
  readonly 'x-secret'?: boolean
  readonly properties?: Readonly<Record<string, SchemaNode>>
}

const schemas: readonly SchemaNode[] = [
  cardSchemas.CreateCardSchema,
  cardSchemas.ChangeCardSchema,
  cardSchemas.SetPinSchema,
  cardSchemas.UpdateCvvStatusSchema,
  cardSchemas.UnblockPinSchema,
  cardSchemas.ChangeCardStatusSchema,
  cardSchemas.PinSchema,
  CreatedWebhookSchema,
] as readonly SchemaNode[]

/** Lists the members that a schema marks as secret, at any depth. */
const secretNames = (schema: SchemaNode): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    ...(member['x-secret'] ? [name] : []),
    ...secretNames(member),
  ])

/**
 * The paths that a log must mask, from the schemas. No code logs a body on purpose; this guards
 * against future code that does.
 */
export const secretPaths: readonly string[] = [...new Set(schemas.flatMap(secretNames))].flatMap(
  (name) => [name, `*.${name}`, `*.*.${name}`],
)
