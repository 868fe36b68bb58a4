<?php

/** Writes to standard output. The logger of a program that sets none. */
class ApnsPHP_Log_Embedded implements ApnsPHP_Log_Interface
{
    public function log($sMessage)
    {
        echo date('r'), ' ApnsPHP[', getmypid(), ']: ', trim($sMessage), "\n";
    }
}
