import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AjvCompiler } from '@fastify/ajv-compiler'
import type { Static } from 'typebox'
import { StartRefusal } from '../../domain/problem.ts'
import type { FieldLayout, Layout } from './codec/layout.ts'
import { createLayout, type Version, type WireEncoding } from './codec/versions.ts'
import type { FieldChangeSchema } from './field-schema.ts'
import {
  keyFields,
  outcomes,
  type Profile,
  ProfileSchema,
  type Profiles,
  type ProfileText,
} from './profile-schema.ts'
import { findWritingFault } from './writable.ts'

const ownFolder = fileURLToPath(new URL('profiles', import.meta.url))

/**
 * Reads the profiles of this program and those in an operator's folder, each with the profiles that
 * it extends.
 * @throws StartRefusal with every fault of all of them.
 */
export async function loadProfiles(folder: string | null): Promise<Profiles> {
  const faults: string[] = []
  const texts = new Map<string, Record<string, unknown>>()
  await readFolder(ownFolder, texts, faults)
  const own = new Set(texts.keys())
  if (folder !== null) await readFolder(folder, texts, faults)
  const profiles = new Map<string, Profile>()
  for (const name of texts.keys()) {
    const whole = withExtended(name, texts, faults)
    // Tests verify the program's own profiles: most starts compile no schema for them.
    const isSound = whole !== null && (own.has(name) || isProfile(name, whole, faults))
    const profile = isSound ? compile(whole as ProfileText, faults) : null
    if (profile) profiles.set(name, profile)
  }
  if (faults.length === 0) return profiles
  throw new StartRefusal(
    `The profiles of links have faults:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
  )
}

async function readFolder(
  folder: string,
  texts: Map<string, Record<string, unknown>>,
  faults: string[],
): Promise<void> {
  const files = await readdir(folder).catch(() => {
    faults.push(`LINK_PROFILES_DIR: the folder ${folder} cannot be read.`)
    return []
  })
  for (const file of files.filter((name) => name.endsWith('.json')).sort()) {
    const parsed = await readFile(join(folder, file), 'utf8')
      .then(JSON.parse)
      .catch(() => null)
    const name: unknown = isObject(parsed) ? parsed.name : undefined
    if (typeof name !== 'string') faults.push(`${file} must be a JSON object with a name.`)
    else if (texts.has(name)) faults.push(`${file}: another profile has the name ${name}.`)
    else texts.set(name, parsed)
  }
}

/** Returns a profile merged with all profiles that it extends; null if one does not exist. */
function withExtended(
  name: string,
  texts: ReadonlyMap<string, Record<string, unknown>>,
  faults: string[],
): object | null {
  const extended: string[] = []
  let whole: unknown = {}
  for (let next: unknown = name; next !== undefined; ) {
    const text = texts.get(String(next))
    if (!text || extended.includes(String(next))) {
      faults.push(`${name} extends ${String(next)}, which does not exist or extends it.`)
      return null
    }
    extended.push(String(next))
    whole = merged(text, whole)
    next = text.extends
  }
  const { extends: _, ...profile } = whole as Record<string, unknown>
  return profile
}

function isProfile(name: string, whole: object, faults: string[]): whole is ProfileText {
  compiled ??= AjvCompiler()({}, { customOptions: asItIs })({ schema: ProfileSchema }) as Compiled
  if (compiled(whole)) return true
  for (const { instancePath, message } of compiled.errors ?? []) {
    faults.push(`${name}${instancePath}: ${message}.`)
  }
  return false
}

// The framework's validator, which a start has loaded anyway. It changes nothing here.
const asItIs = { allErrors: true, coerceTypes: false, removeAdditional: false, useDefaults: false }
interface Compiled {
  (profile: unknown): boolean
  readonly errors: readonly { instancePath: string; message?: string }[] | null
}
let compiled: Compiled | undefined

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Merges a profile with changes: objects member by member, everything else replaced. A value of
 * another kind, or in another field, replaces the former one completely.
 */
function merged(base: unknown, changes: unknown): unknown {
  if (!isObject(base) || !isObject(changes)) return changes === undefined ? base : changes
  const isOther = ['kind', 'field'].some((name) => changes[name] && changes[name] !== base[name])
  if (isOther) return changes
  const names = new Set([...Object.keys(base), ...Object.keys(changes)])
  return Object.fromEntries(
    [...names].map((name) => [name, merged(base[name], changes[name])] as const),
  )
}

function compile({ encoding, layout, ...profile }: ProfileText, faults: string[]): Profile | null {
  const version = profile.version as Version
  const standard = createLayout(version, encoding as WireEncoding)
  const fields: Record<string, FieldLayout> = {}
  for (const [number, field] of Object.entries(standard.fields)) {
    const inText = layout.text && field.encoding === 'ascii' ? { encoding: layout.text } : {}
    fields[number] = { ...field, ...inText }
  }
  for (const [number, change] of Object.entries(layout.fields)) {
    const whole = change && changedField(fields[number], change)
    if (whole) fields[number] = whole
    else delete fields[number]
  }
  for (const [number, field] of Object.entries(fields)) {
    fields[number] = { ...field, tolerant: true }
  }
  const own = listFaults(profile, fields).map((fault) => `${profile.name}: ${fault}`)
  faults.push(...own)
  if (own.length > 0) return null
  const { bitmap = standard.bitmap, header } = layout
  const compiledProfile: Profile = {
    ...profile,
    version,
    layout: {
      mti: standard.mti,
      bitmap: { ...bitmap, tolerant: true },
      fields,
      ...(header !== undefined && { header }),
    } as Layout,
  }
  const unwritable = findWritingFault(compiledProfile)
  if (unwritable !== null) faults.push(`${profile.name}: ${unwritable}`)
  return unwritable === null ? compiledProfile : null
}

/** Returns a changed field without the members that no longer fit. */
function changedField(
  before: FieldLayout | undefined,
  { parts, ...change }: Static<typeof FieldChangeSchema>,
): FieldLayout {
  const { oddPad, parts: partsBefore, ...kept } = { ...before, ...change } as FieldLayout
  const chosen = parts === undefined ? partsBefore : parts
  const isVariable = kept.max !== undefined && kept.prefix !== undefined
  const { length, ...variable } = kept
  return {
    ...(isVariable && change.length === undefined ? variable : kept),
    ...(oddPad && kept.encoding === 'bcd' && { oddPad }),
    ...(chosen && { parts: chosen as NonNullable<FieldLayout['parts']> }),
  }
}

/** Lists faults that the schema cannot express: references to missing fields. */
function listFaults(
  {
    accepted,
    additionalAmounts,
    addressCheck,
    billing,
    responses,
    cvv2,
    echoed,
    entryMode,
    increment,
    keyChange,
    mac,
    management,
    networkTransactionId,
    partialApproval,
    pin,
    processing,
    replacement,
    ...cardData
  }: Omit<ProfileText, 'layout' | 'encoding'>,
  fields: Readonly<Record<string, FieldLayout>>,
): string[] {
  const addressPlaces = addressCheck
    ? [addressCheck.postalCode, addressCheck.addressLine, addressCheck.result]
    : []
  const named = [
    ...echoed,
    ...keyFields,
    management.field,
    entryMode.field,
    pin.field,
    pin.control,
    '3',
    ...(processing.functions ? [processing.functions.field] : []),
    ...addressPlaces.map(({ field }) => field),
    ...(billing ? [billing.amount, billing.currency] : []),
    ...(networkTransactionId ? [networkTransactionId.field] : []),
    ...(increment ? [increment.field] : []),
    ...(partialApproval ? [partialApproval.field] : []),
    ...(additionalAmounts ? [additionalAmounts.field] : []),
    ...(replacement ? [replacement.field] : []),
    ...listCardDataFields(cardData),
    ...(cardData.chip?.panSequenceNumber ? [cardData.chip.panSequenceNumber] : []),
    ...(cardData.stripe.chipTerminal ? [cardData.stripe.chipTerminal.field] : []),
    ...(cvv2 ? [cvv2.field, cvv2.result?.field ?? cvv2.field] : []),
    ...(mac ? ['64', '128', mac.control] : []),
    keyChange.block,
    keyChange.checkValue,
    '38',
    '39',
  ]
  const places = [
    cardData.cavv,
    cvv2,
    cvv2?.result,
    increment,
    networkTransactionId,
    partialApproval,
  ]
  const parted = [...places, ...addressPlaces].filter((each) => each?.part !== undefined)
  const secret = [
    ...([pin.field, '35', '36', '45', '55'] as const),
    ...listCardDataFields(cardData),
    ...(cvv2 ? [cvv2.field] : []),
  ]
  const code = fields[39]
  const codes = [
    ...outcomes.map((outcome) => responses[outcome] ?? outcome),
    ...Object.values(accepted),
  ]
  const isCode = (text: string): boolean =>
    text.length === code?.length && (code.type !== 'n' || /^[0-9]+$/.test(text))
  return [
    ...codes
      .filter((text) => !isCode(text))
      .map((text) => `${text} does not fit field 39: choose another in responses or accepted.`),
    ...named
      .filter((number) => !fields[number])
      .map((number) => `field ${number} is named, but is not in the layout.`),
    ...echoed
      .filter((number) => secret.includes(number))
      .map((number) => `field ${number} has content that must not be sent back.`),
    ...keyFields
      .filter((number) => !echoed.includes(number))
      .map((number) => `field ${number} distinguishes transactions, so it must be echoed.`),
    ...[cardData.chip]
      .filter((place) => place && fields[place.field] && fields[place.field]?.type !== 'b')
      .map((place) => `field ${place?.field} has chip data, which are bytes.`),
    ...parted
      .filter((each) => !fields[each?.field ?? '']?.parts)
      .map((each) => `field ${each?.field} has no parts, but one of them is named.`),
    ...Object.entries(fields).flatMap(([number, field]) => fieldFaults(number, field)),
  ]
}

/** Lists the fields of what is read from a card. */
const listCardDataFields = ({
  cavv,
  chip,
  stripe,
}: Pick<ProfileText, 'cavv' | 'chip' | 'stripe'>): readonly string[] =>
  [stripe, chip, cavv].flatMap((place) => (place ? [place.field] : []))

/** Lists the inconsistencies of a field or its subfields. */
function fieldFaults(
  name: string,
  { encoding, length, max, parts, prefix, type }: FieldLayout,
): readonly string[] {
  const isCounted = max !== undefined && prefix !== undefined
  const isOfBytes = /^(binary|hex)/.test(encoding)
  const isPacked = encoding === 'bcd'
  const needsBytes = parts?.kind === 'bitmap' || parts?.kind === 'ber-tlv'
  const rules = [
    [length !== undefined || isCounted, 'has neither a length nor a maximum with a prefix'],
    [(type === 'b') === isOfBytes, 'has a type that its encoding does not allow'],
    [!isPacked || ['n', 'z', 'x+n'].includes(type), 'packs characters that are not digits'],
    [!parts || (needsBytes ? isOfBytes : !isOfBytes && !isPacked), 'cannot have such parts'],
  ] as const
  return [
    ...rules.filter(([isRight]) => !isRight).map(([, fault]) => `field ${name} ${fault}.`),
    ...Object.entries(parts?.kind === 'bitmap' ? parts.fields : {}).flatMap(([part, field]) =>
      fieldFaults(`${name}.${part}`, field),
    ),
  ]
}
