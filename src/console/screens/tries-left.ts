/** Says how many tries are left. */
export const left = (tries: number): string => (tries === 1 ? '1 try left' : `${tries} tries left`)
