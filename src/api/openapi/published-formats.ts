import { stringFormats } from '../schemas/formats.ts'

const formats = stringFormats(() => '')

/** What JSON Schema itself can say of some of our formats. */
const equivalents: Readonly<Record<string, object>> = {
  id: { format: 'uuid' },
  'birth-date': { format: 'date' },
  'year-month': { pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' },
  'country-code': { pattern: '^[A-Z]{3}$' },
}

/** Tells the rule of a format that only this service knows, in words. */
export function publishedFormat(schema: Record<string, unknown>): Record<string, unknown> {
  const { format, ...rest } = schema
  const rule = formats[String(format)]
  if (!rule) return schema
  const description = `${rule.detail.replace(/^m/, 'M')}.`
  return { description, ...rest, ...equivalents[String(format)] }
}
