import { createHash } from 'node:crypto'
import type { Html } from '../listeners/http/html.ts'
import { formFieldNames } from './screen.ts'

const regionMarkup = /<live-region .*?<\/live-region>/gs
const formFieldMarkup = new RegExp(
  `name="(?:${formFieldNames.token}|${formFieldNames.key})" value="[^"]*"`,
  'g',
)

/**
 * The version of what a page shows live, without the fields that each form has anew; null where
 * nothing in it is live. An open page asks with it whether there is anything new, and is answered
 * by nothing where there is not.
 */
export function computeLiveVersion(body: Html): string | null {
  const regions = String(body).match(regionMarkup)
  if (!regions) return null
  const text = regions.join('').replaceAll(formFieldMarkup, '')
  return createHash('sha256').update(text).digest('base64url')
}
