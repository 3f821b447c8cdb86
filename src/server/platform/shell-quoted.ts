/** Returns a text as one word of a shell command. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
