import type { Product } from '../../domain/product.ts'
import { chipKeyNames } from '../../hsm/contract/catalogue.ts'
import { currentVersions } from '../../operations/keys/uses.ts'
import type { Database } from '../../storage/engine/database.ts'
import { type DatedHsmKeyRow, listHsmKeys } from '../../storage/keys/hsm-keys.ts'
import { listProductRows } from '../../storage/products/products.ts'
import type { Config } from '../config/config.ts'
import { type Finding, fault, good, warning } from './finding.ts'

/** The maximum number of products that are looked at. */
const productsMost = 1_000

/** Checks that the keys are there that the chips of products need. */
export async function chipFindings(
  { pkcs11 }: Pick<Config, 'pkcs11'>,
  database: Database,
): Promise<readonly Finding[]> {
  const products = (await listProductRows(database, null, productsMost)).filter(({ chip }) => chip)
  if (products.length === 0) return [good('chips', 'No product has chips.')]
  const keys = await listHsmKeys(database)
  const findings = [...missingVersions(products, keys), ...differingVersions(keys)]
  if (findings.length > 0) return findings
  const found = 'Every version of the chip keys that a product lists is active.'
  const ofToken =
    ' The token holds the keys. The keys of single cards are derived in the memory of the ' +
    'process, for one call each.'
  return [good('chips', pkcs11 ? `${found}${ofToken}` : found)]
}

const missingVersions = (
  products: readonly Product[],
  keys: readonly DatedHsmKeyRow[],
): readonly Finding[] =>
  products.flatMap(({ chip, productId }) =>
    [...new Set(Object.values(chip?.keyVersions ?? {}))].flatMap((version) => {
      const missing = chipKeyNames.filter(
        (name) =>
          !keys.some(
            ({ keyName, keyVersion, state }) =>
              keyName === name && keyVersion === version && state === 'active',
          ),
      )
      if (missing.length === 0) return []
      return [
        fault(
          'chips',
          `Product ${productId} lists version ${version} of the chip keys, which is not active ` +
            `of ${missing.join(', ')}.`,
          'Purchases with chips of this version are declined.',
          'Rotate to a pending version or import the key (docs/reference/keys.md), or correct ' +
            `the list: npx pinfold products change ${productId} --chip-keys LIST`,
        ),
      ]
    }),
  )

/** A chip uses the same version of each key. */
function differingVersions(keys: readonly DatedHsmKeyRow[]): readonly Finding[] {
  const current = currentVersions(keys).filter(({ keyName }) =>
    chipKeyNames.some((name) => name === keyName),
  )
  if (new Set(current.map(({ keyVersion }) => keyVersion)).size <= 1) return []
  const references = current.map(({ keyName, keyVersion }) => `${keyName}/${keyVersion}`)
  return [
    warning(
      'chips',
      `The newest versions of the chip keys differ: ${references.join(', ')}.`,
      'A chip uses the same version of each key, so no chip can use the newest ones.',
      'Import the keys that are behind again, or rotate them: npx pinfold keys rotate NAME ' +
        '(docs/reference/keys.md, numbers of the keys of chips)',
    ),
  ]
}
