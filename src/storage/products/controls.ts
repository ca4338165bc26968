import { areOpen, completeProductControls, type ProductControls } from '../../domain/controls.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** The controls of a product with their version: 0 before the first change. */
interface VersionedControls {
  readonly controls: ProductControls
  readonly version: number
}

interface ControlsRow {
  readonly controls: string | null
  readonly version: number
}

const parseRow = (row: ControlsRow | null): VersionedControls | null =>
  row && {
    version: row.version,
    controls:
      row.controls === null
        ? completeProductControls()
        : (JSON.parse(row.controls) as ProductControls),
  }

const select = declare<{ productId: ProductId }, ControlsRow>('find_product_controls')

/** Returns the controls of a product, or null if it does not exist. */
export const findProductControls = async (
  connection: Connection,
  productId: ProductId,
): Promise<VersionedControls | null> => parseRow(firstRow(await select(connection, { productId })))

const lock = declare<{ productId: ProductId }, ControlsRow>('lock_product_controls')

/** Returns the same, locked until the transaction ends. */
export const lockProductControls = async (
  connection: Connection,
  productId: ProductId,
): Promise<VersionedControls | null> => parseRow(firstRow(await lock(connection, { productId })))

const insert = declare<{ productId: ProductId; version: number; controls: string }>(
  'insert_product_controls',
)
const update = declare<{ productId: ProductId; version: number; inForce: string | null }>(
  'update_product_controls',
)

/** Puts a new version of the controls of a product in force. */
export async function updateProductControls(
  connection: Connection,
  productId: ProductId,
  { controls, version }: VersionedControls,
): Promise<void> {
  const text = JSON.stringify(controls)
  await insert(connection, { productId, version, controls: text })
  await update(connection, { productId, version, inForce: areOpen(controls) ? null : text })
}
