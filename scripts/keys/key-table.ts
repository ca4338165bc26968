import type { ListedKey } from '../../src/operations/keys/list-keys.ts'

const columns: readonly (readonly [string, (key: ListedKey) => string])[] = [
  [
    'KEY',
    ({ clientId, key, version }) =>
      `${clientId ? `${clientId} ` : ''}${key}${version === null ? '' : `/${version}`}`,
  ],
  [
    'USE',
    ({ algorithm, exportability, keyUsage, modeOfUse }) =>
      `${keyUsage} ${algorithm} ${modeOfUse} ${exportability}`,
  ],
  ['STATE', ({ current, state }) => (current ? `${state}, in use` : state)],
  ['CHECK VALUE', ({ checkMethod, keyCheckValue }) => `${keyCheckValue} (${checkMethod})`],
  [
    'SINCE',
    ({ activatedAt, createdAt, retiredAt }) =>
      String(retiredAt ?? activatedAt ?? createdAt ?? '').slice(0, 19),
  ],
  ['MOVED', ({ pass }) => (pass ? progressOf(pass) : '')],
]

const progressOf = ({ finishedAt, holding, moved, walked }: NonNullable<ListedKey['pass']>) =>
  finishedAt ? `all (${moved})` : `${moved} of ${walked} read, in ${holding}`

/** Keys in columns, for a person. */
export function keyTable(keys: readonly ListedKey[]): string {
  const rows = [
    columns.map(([name]) => name),
    ...keys.map((key) => columns.map(([, of]) => of(key))),
  ]
  const widths = columns.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
