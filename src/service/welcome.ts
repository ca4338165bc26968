import type { Config } from '../config.ts'

/** What a person reads when the service is up. No secret is in it: they are in the file it names. */
export function welcome(config: Config, sandboxFile: string | null): string {
  const { baseUrl, databaseUrl, dataDir, privateUrl, processorPath } = config
  const database = databaseUrl === null ? `PostgreSQL in this process, in ${dataDir}` : 'PostgreSQL'
  const hasDemo = sandboxFile !== null && config.outsideIssuer === null
  const demo = hasDemo ? `\n  Demo              ${baseUrl}/demo` : ''
  return `
Pinfold is ready${sandboxFile === null ? '' : ' (sandbox: test keys, no real cards)'}.

  Clients call      ${baseUrl}/thr/${processorPath}
  Reference         ${baseUrl}/docs${demo}
  Networks, health  ${privateUrl}
  Database          ${database}
${sandboxFile === null ? '' : `  Credentials       ${sandboxFile}\n\nNext: npm run demo\n`}`
}
