import type { FileHandle } from 'node:fs/promises'

/**
 * Returns a short path for a handle: the path of a unix socket is limited to 107 bytes, which a data folder may exceed.
 */
export const pathOf = ({ fd }: Pick<FileHandle, 'fd'>): string => `/proc/self/fd/${fd}`
