/**
 * Adds the variables of `pinfold.env` to the environment. @returns the reason why the command
 * cannot run, as a sentence.
 */
export function loadEnvFile(
  words: readonly string[],
  environment?: Record<string, string | undefined>,
): string | null
