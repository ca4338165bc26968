import { createHash } from 'node:crypto'
import type { Html } from '../listeners/http/html.ts'
import { formFieldNames } from './screen.ts'

const regionMarkup = /<live-region .*?<\/live-region>/gs
const formFieldMarkup = new RegExp(
  `name="(?:${formFieldNames.token}|${formFieldNames.key})" value="[^"]*"`,
  'g',
)

/**
 * Computes the version of a page's live content, without the fields that each form renews; null
 * without live content. An open page sends it when it polls and gets an empty answer if nothing
 * changed.
 */
export function computeLiveVersion(body: Html): string | null {
  const regions = String(body).match(regionMarkup)
  if (!regions) return null
  const text = regions.join('').replaceAll(formFieldMarkup, '')
  return createHash('sha256').update(text).digest('base64url')
}
