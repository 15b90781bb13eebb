/** The program's own image, as the tests build it. */
export declare const SERVICE: string;
/** Builds the program's own image on Node and packages of this machine, when it is missing or what it is made of changed. */
export declare function buildService(root: string, tag?: string): Promise<void>;
/** Builds the image that stands for PostgreSQL's own. */
export declare function buildPostgres(root: string): Promise<void>;
