import { parseConfig } from '../src/service/config/config.ts'
import { type DescribedVariable, variableGroups } from '../src/service/config/variable-reference.ts'

const introduction = `# Configuration

Environment variables configure the service and the command line. An empty variable counts as not
set. At the start the service reports all wrong and missing variables at once and opens no
listener. \`npx pinfold doctor\` reports the same without a start.

Production (\`SANDBOX=false\`) needs \`DATABASE_URL\`, an https \`BASE_URL\`, \`ADMIN_JWK_FILE\`,
and one of two: \`HSM=pkcs11\`, or \`MASTER_KEY_FILE\` with \`ACCEPT_SOFTWARE_HSM=yes\`. [Settings
that production refuses](production.md) lists the rest.

This file is generated from \`src/service/config/variable-reference.ts\` by \`npm run generate\`.
The column \`values\` is what the service itself accepts.
`

/** docs/reference/configuration.md. */
export const generateConfiguration = (): string => {
  const groups = variableGroups.map(({ title, variables }) =>
    [`\n## ${title}\n`, '| variable | default | values | meaning |', '|---|---|---|---|']
      .concat(variables.map(row))
      .join('\n'),
  )
  return `${[introduction.trimEnd(), ...groups].join('\n')}\n`
}

const row = ([name, otherwise, meaning]: DescribedVariable): string =>
  `| \`${name}\` | ${otherwise} | ${describeValues(name)} | ${meaning} |`

/** Lists the accepted values, as the error about another one does. */
function describeValues(name: string): string {
  const { faults } = parseConfig({ [name]: 'unusable' })
  const complaint = faults.find((fault) => fault.startsWith(`${name} must be `)) ?? ''
  const [, least, most] = /a whole number from (\d+) to (\d+)/.exec(complaint) ?? []
  if (least !== undefined) {
    const range = `${thousands(least)} to ${thousands(most)}`
    return name === 'PROCESSES' ? `${range}, \`auto\`` : range
  }
  const [, list = ''] =
    /must be (?:one of )?(true or false|[\w-]+(?:, [\w-]+)*)\.$/.exec(complaint) ?? []
  return list
    .split(/, | or /)
    .filter(Boolean)
    .map((value) => `\`${value}\``)
    .join(', ')
}

const thousands = (digits = ''): string => Number(digits).toLocaleString('en-US')
