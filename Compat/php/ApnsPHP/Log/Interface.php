<?php

interface ApnsPHP_Log_Interface
{
    public function log($sMessage);
}
